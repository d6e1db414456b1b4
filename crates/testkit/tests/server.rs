//! The server with faults, seen from raw sockets.
#![cfg(feature = "server")]

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use stagger_testkit::server::{
    BlockingServer, ConnectionEnd, MAX_BODY, Reaction, RefusingPort, Script, TestServer,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const GET: &str = "GET /a?b=c HTTP/1.1\r\nhost: x\r\n\r\n";
const LAST: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

async fn serve(reaction: Reaction) -> TestServer {
    TestServer::start(Script::of([reaction])).await
}

async fn dial(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("it listens")
}

/// All that comes back, and how it ended: `None` is an orderly close.
async fn drain(socket: &mut TcpStream) -> (String, Option<ErrorKind>) {
    let mut bytes = Vec::new();
    let end = socket.read_to_end(&mut bytes).await.err().map(|error| error.kind());
    (String::from_utf8(bytes).expect("replies are text"), end)
}

async fn ask(server: &TestServer, request: &str) -> (String, Option<ErrorKind>) {
    let mut socket = dial(server.address()).await;
    socket.write_all(request.as_bytes()).await.expect("it reads");
    drain(&mut socket).await
}

/// One reply whose body has this length, on a connection that stays open.
async fn one(socket: &mut TcpStream, body: usize) -> String {
    let mut reply = Vec::new();
    let done = |reply: &[u8]| {
        let head = reply.windows(4).position(|four| four == b"\r\n\r\n");
        head.is_some_and(|at| reply.len() >= at + 4 + body)
    };
    while !done(&reply) {
        reply.push(socket.read_u8().await.expect("the connection stays open"));
    }
    String::from_utf8(reply).expect("replies are text")
}

#[tokio::test]
async fn answers_with_status_headers_and_body_as_told() {
    let reaction = Reaction::status(503).header("retry-after", "7").body("later");
    let server = serve(reaction).await;
    let (reply, end) = ask(&server, LAST).await;
    let want =
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 5\r\n\r\nlater";
    assert_eq!((reply.as_str(), end), (want, None));
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn notes_what_it_saw_on_which_connection() {
    let server = TestServer::start(Script::always(Reaction::ok("x"))).await;
    let mut socket = dial(server.address()).await;
    socket.write_all(GET.as_bytes()).await.expect("it reads");
    one(&mut socket, 1).await;
    let post = "POST /p HTTP/1.1\r\nk: v\r\ncontent-length: 3\r\n\r\nabc";
    socket.write_all(post.as_bytes()).await.expect("it reads");
    one(&mut socket, 1).await;
    ask(&server, LAST).await;
    let seen = server.seen();
    assert_eq!(seen.iter().map(|s| s.connection).collect::<Vec<_>>(), [1, 1, 2]);
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", "/a?b=c"));
    assert_eq!((&seen[1].body[..], seen[1].body_len), (&b"abc"[..], 3));
    assert_eq!(seen[1].headers["k"], "v");
    assert!(seen[0].at <= seen[1].at && seen[1].complete);
    assert_eq!((server.connections(), server.taken()), (2, 3));
}

#[tokio::test]
async fn a_chunked_request_is_put_together() {
    let server = serve(Reaction::ok("")).await;
    let request = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nt: v\r\n\r\n";
    ask(&server, request).await;
    assert_eq!(&server.seen()[0].body[..], b"abcde");
}

#[tokio::test]
async fn a_long_body_is_counted_but_not_kept() {
    let server = serve(Reaction::ok("")).await;
    let length = MAX_BODY + 10;
    let head = format!("PUT / HTTP/1.1\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    ask(&server, &(head + &"x".repeat(length))).await;
    let seen = &server.seen()[0];
    assert_eq!((seen.body.len(), seen.body_len), (MAX_BODY, length as u64));
}

#[tokio::test]
async fn who_asks_before_sending_a_body_is_told_to_go_on() {
    let server = serve(Reaction::ok("x")).await;
    let mut socket = dial(server.address()).await;
    let head = "POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n";
    socket.write_all(head.as_bytes()).await.expect("it reads");
    assert!(one(&mut socket, 0).await.starts_with("HTTP/1.1 100"));
    socket.write_all(b"y").await.expect("it reads");
    assert!(one(&mut socket, 1).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_client_that_leaves_in_its_body_takes_no_reaction() {
    let server = serve(Reaction::ok("x")).await;
    let mut socket = dial(server.address()).await;
    let head = "POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nabc";
    socket.write_all(head.as_bytes()).await.expect("it reads");
    drop(socket);
    ask(&server, LAST).await;
    server.until_open(0).await;
    let part = server.seen().into_iter().find(|seen| !seen.complete).expect("it was noted");
    assert_eq!(&part.body[..], b"abc");
    assert_eq!((server.taken(), server.left()), (1, 0));
}

#[tokio::test]
async fn refusal_refuses_again_and_again() {
    let refusal = RefusingPort::hold().expect("a port is free");
    for _ in 0..3 {
        let error = TcpStream::connect(refusal.address()).await.expect_err("nobody listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }
    assert!(refusal.url("/x").ends_with("/x"));
}

#[tokio::test]
async fn reset_unread_leaves_no_trace_of_the_request() {
    let server = serve(Reaction::reset_unread()).await;
    assert_eq!(ask(&server, GET).await, (String::new(), Some(ErrorKind::ConnectionReset)));
    assert_eq!((server.seen().len(), server.taken(), server.connections()), (0, 1, 1));
}

#[tokio::test]
async fn reset_comes_after_the_whole_request() {
    let server = serve(Reaction::reset()).await;
    let post = "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc";
    assert_eq!(ask(&server, post).await, (String::new(), Some(ErrorKind::ConnectionReset)));
    assert_eq!(&server.seen()[0].body[..], b"abc");
}

#[tokio::test]
async fn close_is_orderly_and_without_a_word() {
    let server = serve(Reaction::close()).await;
    assert_eq!(ask(&server, GET).await, (String::new(), None));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_cut_body_promises_more_than_it_sends() {
    let server = serve(Reaction::ok("abcdef").cut(2)).await;
    let (reply, end) = ask(&server, GET).await;
    assert!(reply.contains("content-length: 6\r\n") && reply.ends_with("\r\n\r\nab"), "{reply}");
    assert_eq!(end, None);
}

#[tokio::test]
async fn a_cut_body_can_end_in_a_reset() {
    let server = serve(Reaction::ok("abcdef").cut(2).ending(ConnectionEnd::Reset)).await;
    assert_eq!(ask(&server, GET).await.1, Some(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_cut_chunked_body_lacks_its_last_chunk() {
    let whole = ask(&serve(Reaction::ok("abcdef").chunked()).await, LAST).await.0;
    assert!(whole.ends_with("\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n"), "{whole}");
    let cut = ask(&serve(Reaction::ok("abcdef").chunked().cut(6)).await, GET).await.0;
    assert!(cut.contains("transfer-encoding: chunked\r\n"));
    assert!(cut.ends_with("\r\n\r\n6\r\nabcdef\r\n"), "{cut}");
}

#[tokio::test]
async fn trailers_follow_the_last_chunk() {
    let server = serve(Reaction::ok("ab").trailer("grpc-status", "0")).await;
    let (reply, _) = ask(&server, LAST).await;
    assert!(reply.ends_with("2\r\nab\r\n0\r\ngrpc-status: 0\r\n\r\n"), "{reply}");
}

#[tokio::test]
async fn hang_reads_all_and_answers_nothing() {
    let server = serve(Reaction::hang()).await;
    let mut socket = dial(server.address()).await;
    socket.write_all(GET.as_bytes()).await.expect("it reads");
    server.until_taken(1).await;
    assert_eq!(socket.try_read(&mut [0]).expect_err("no byte").kind(), ErrorKind::WouldBlock);
    assert_eq!(server.open(), 1);
    drop(socket);
    server.until_open(0).await;
}

#[tokio::test]
async fn stall_sends_the_head_and_a_part() {
    let server = serve(Reaction::ok("abc").stall(1)).await;
    let mut socket = dial(server.address()).await;
    socket.write_all(GET.as_bytes()).await.expect("it reads");
    assert!(one(&mut socket, 1).await.ends_with("\r\n\r\na"));
    assert_eq!(socket.try_read(&mut [0]).expect_err("no byte").kind(), ErrorKind::WouldBlock);
}

#[tokio::test]
async fn drip_sends_byte_by_byte() {
    for interval in [Duration::ZERO, Duration::from_millis(1)] {
        let server = serve(Reaction::ok("abc").chunked().drip(interval)).await;
        let (reply, _) = ask(&server, LAST).await;
        assert!(reply.ends_with("1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"), "{reply}");
    }
}

#[tokio::test]
async fn an_idle_connection_goes_stale_after_a_whole_reply() {
    let server = serve(Reaction::ok("x").ending(ConnectionEnd::Close)).await;
    let (reply, end) = ask(&server, GET).await;
    assert!(reply.ends_with("\r\n\r\nx") && !reply.contains("connection"), "{reply}");
    assert_eq!(end, None);
}

#[tokio::test]
async fn a_kept_connection_is_reset_when_it_is_used_again() {
    let server = TestServer::start(Script::of([Reaction::ok("x"), Reaction::reset_unread()])).await;
    let mut socket = dial(server.address()).await;
    socket.write_all(GET.as_bytes()).await.expect("it reads");
    one(&mut socket, 1).await;
    socket.write_all(GET.as_bytes()).await.expect("it is open");
    assert_eq!(drain(&mut socket).await.1, Some(ErrorKind::ConnectionReset));
    assert_eq!((server.seen().len(), server.taken()), (1, 2));
}

#[tokio::test]
async fn a_reply_to_head_and_204_has_no_body() {
    let server = serve(Reaction::ok("abc")).await;
    let (reply, _) = ask(&server, "HEAD / HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    assert!(reply.ends_with("content-length: 3\r\n\r\n"), "{reply}");
    let (reply, _) = ask(&serve(Reaction::status(204)).await, LAST).await;
    assert!(reply.ends_with("204 No Content\r\n\r\n"), "{reply}");
}

#[tokio::test]
async fn what_is_not_http_ends_the_connection() {
    let server = serve(Reaction::ok("abc")).await;
    let (reply, _) = ask(&server, "nonsense\r\n\r\n").await;
    assert_eq!((reply.as_str(), server.taken()), ("", 0));
}

#[tokio::test]
async fn a_dropped_server_hangs_up() {
    let server = serve(Reaction::hang()).await;
    let mut socket = dial(server.address()).await;
    socket.write_all(GET.as_bytes()).await.expect("it reads");
    server.until_taken(1).await;
    let address = server.address();
    drop(server);
    drain(&mut socket).await;
    TcpStream::connect(address).await.expect_err("nobody listens any more");
}

#[test]
fn a_dropped_blocking_server_hangs_up_and_joins() {
    let server = BlockingServer::start(Script::always(Reaction::hang()));
    let address = server.address();
    let held = std::net::TcpStream::connect(address).expect("it listens");
    drop(server);
    std::net::TcpStream::connect(address).expect_err("nobody listens any more");
    drop(held);
}

//! Bodies that stream, protocols that are switched, and what the first byte of a reply means.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{RunningProxy, read_until};

/// A route to a server that the test plays itself.
async fn played(more: &str) -> (RunningProxy, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let proxy =
        RunningProxy::start(&format!("[route.api]\nupstream = 'http://{address}'\n{more}")).await;
    (proxy, listener)
}

#[tokio::test]
async fn events_were_held_back_until_the_stream_ended() {
    let (proxy, listener) = played("policy = { limits = { deadline = '1s' } }").await;
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(b"GET /events HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    let (mut server, _) = listener.accept().await.expect("the proxy connects");
    read_until(&mut server, "\r\n\r\n").await;
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    server.write_all(head.as_bytes()).await.expect("it reads");
    for event in ["data: 1\n\n", "data: 2\n\n"] {
        server
            .write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
            .await
            .expect("it reads");
        assert!(read_until(&mut client, event).await.ends_with(event), "each as it comes");
        // Events come for longer than the call may take until its head.
        tokio::time::sleep(Duration::from_millis(1200)).await;
    }
}

#[tokio::test]
async fn an_upload_was_kept_until_it_was_whole() {
    let (proxy, listener) = played("").await;
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    let head = "POST /up HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n4\r\none \r\n";
    client.write_all(head.as_bytes()).await.expect("it reads");
    let (mut server, _) = listener.accept().await.expect("the proxy connects");
    assert!(read_until(&mut server, "one \r\n").await.contains("transfer-encoding: chunked"));
    client.write_all(b"4\r\nbolt\r\n0\r\n\r\n").await.expect("it reads");
    read_until(&mut server, "bolt\r\n0\r\n\r\n").await;
    server.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.expect("it reads");
    assert!(read_until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 204"));
}

#[tokio::test]
async fn a_reply_that_broke_off_was_begun_again() {
    let cut = Reaction::ok("a long reply that is cut").cut(6);
    let server = TestServer::start(Script::of([cut, Reaction::ok("another")])).await;
    let proxy = RunningProxy::start(&format!("[route.api]\nupstream = '{}'", server.url(""))).await;
    let reply = proxy.raw(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 200") && reply.ends_with("a long"), "{reply}");
    assert_eq!(server.seen().len(), 1, "the first byte commits");
}

#[tokio::test]
async fn a_web_socket_passes_once_it_was_granted() {
    let (proxy, listener) = played("policy = { backoff = { base = '1ms', cap = '1ms' } }").await;
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    let head = "GET /ws HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
                sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    client.write_all(head.as_bytes()).await.expect("it reads");
    let (mut refusing, _) = listener.accept().await.expect("the proxy connects");
    read_until(&mut refusing, "\r\n\r\n").await;
    refusing
        .write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await
        .expect("read");
    let (mut server, _) = listener.accept().await.expect("the second attempt");
    let asked = read_until(&mut server, "\r\n\r\n").await;
    assert!(
        asked.contains("upgrade: websocket") && asked.contains("connection: upgrade"),
        "{asked}"
    );
    let granted = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nhello";
    server.write_all(granted.as_bytes()).await.expect("it reads");
    let reply = read_until(&mut client, "hello").await;
    assert!(reply.starts_with("HTTP/1.1 101") && reply.contains("upgrade: websocket"), "{reply}");
    client.write_all(b"ping").await.expect("the tunnel is open");
    assert_eq!(read_until(&mut server, "ping").await, "ping");
    assert_eq!(proxy.handle.snapshot().routes[0].in_flight, 1, "it holds its place");
    drop(client);
    let mut rest = Vec::new();
    server.read_to_end(&mut rest).await.expect("the other side closes");
}

#[tokio::test]
async fn a_client_that_reads_nothing_kept_its_place() {
    let server = TestServer::start(Script::always(Reaction::ok(vec![b'x'; 4 << 20]))).await;
    let proxy = RunningProxy::start(&format!(
        "proxy.stall_timeout = '300ms'\n[route.api]\nupstream = '{}'",
        server.url("")
    ))
    .await;
    let until_free = async || {
        while proxy.handle.snapshot().routes[0].in_flight > 0 {
            tokio::task::yield_now().await;
        }
    };
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    server.until_taken(1).await;
    until_free().await;
    let stream = TokioIo::new(TcpStream::connect(proxy.address).await.expect("it listens"));
    let handshake = http2::handshake(TokioExecutor::new(), stream).await;
    let (mut sender, connection) = handshake.expect("HTTP/2");
    let connection = tokio::spawn(connection);
    let request = Request::get("http://a/").body(Empty::<Bytes>::new()).expect("a request");
    let unread = sender.send_request(request).await.expect("a head");
    until_free().await;
    assert!(unread.into_body().collect().await.is_err(), "the connection was closed");
    connection.abort();
}

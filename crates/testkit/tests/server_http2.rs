//! The server with faults under HTTP/2, seen by a bare HTTP/2 client.
#![cfg(feature = "server")]

use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::{Request, Response};
use stagger_testkit::server::{ConnectionEnd, Reaction, Reason, Script, TestServer};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

struct Client {
    send: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Client {
    async fn dial(server: &TestServer) -> Self {
        let socket = TcpStream::connect(server.address()).await.expect("it listens");
        let (send, connection) = h2::client::handshake(socket).await.expect("it speaks HTTP/2");
        Self { send, connection: tokio::spawn(connection) }
    }

    async fn send(&mut self, path: &str, body: &'static str) -> ResponseFuture {
        let uri = format!("http://a{path}");
        let request = Request::post(uri).body(()).expect("the path is valid");
        self.send = self.send.clone().ready().await.expect("the connection is open");
        let (reply, mut stream) =
            self.send.send_request(request, false).expect("the connection is open");
        stream.send_data(Bytes::from_static(body.as_bytes()), true).expect("the stream is open");
        reply
    }

    async fn ask(&mut self) -> Result<Response<h2::RecvStream>, h2::Error> {
        self.send("/a", "abc").await.await
    }
}

async fn serve(reactions: impl IntoIterator<Item = Reaction>) -> (TestServer, Client) {
    let server = TestServer::start(Script::of(reactions)).await;
    let client = Client::dial(&server).await;
    (server, client)
}

async fn text(body: &mut h2::RecvStream) -> Result<String, h2::Error> {
    let mut all = Vec::new();
    while let Some(bytes) = body.data().await {
        all.extend_from_slice(&bytes?);
    }
    Ok(String::from_utf8(all).expect("replies are text"))
}

#[tokio::test]
async fn answers_with_status_headers_body_and_trailers() {
    let reaction = Reaction::status(503).header("k", "v").body("later").trailer("grpc-status", "8");
    let (server, mut client) = serve([reaction]).await;
    let mut reply = client.ask().await.expect("an answer");
    assert_eq!((reply.status().as_u16(), &reply.headers()["k"]), (503, &"v".parse().expect("ok")));
    assert_eq!(text(reply.body_mut()).await.expect("a whole body"), "later");
    let trailers = reply.body_mut().trailers().await.expect("whole").expect("trailers");
    assert_eq!(trailers["grpc-status"], "8");
    let seen = &server.seen()[0];
    assert_eq!((seen.path.as_str(), &seen.body[..], seen.complete), ("/a", &b"abc"[..], true));
    assert_eq!(seen.version, http::Version::HTTP_2);
}

#[tokio::test]
async fn streams_share_a_connection() {
    let (server, mut client) = serve([Reaction::status(500), Reaction::ok("x")]).await;
    assert_eq!(client.ask().await.expect("an answer").status(), 500);
    assert_eq!(client.ask().await.expect("an answer").status(), 200);
    assert_eq!((server.connections(), server.seen().len()), (1, 2));
}

#[tokio::test]
async fn a_refused_stream_says_so_and_the_next_one_is_served() {
    let refused = Reaction::reset_stream(Reason::REFUSED_STREAM);
    let (_server, mut client) = serve([refused, Reaction::ok("x")]).await;
    let error = client.ask().await.expect_err("refused");
    assert!(error.is_reset() && error.is_remote());
    assert_eq!(error.reason(), Some(Reason::REFUSED_STREAM));
    assert_eq!(client.ask().await.expect("an answer").status(), 200);
}

#[tokio::test]
async fn go_away_below_leaves_older_streams_alone() {
    let script = Script::of([])
        .on_path("/old", Script::always(Reaction::ok("old").drip(Duration::from_millis(20))))
        .on_path("/new", Script::always(Reaction::go_away_below(Reason::NO_ERROR)));
    let server = TestServer::start(script).await;
    let mut client = Client::dial(&server).await;
    let old = client.send("/old", "").await;
    server.until_taken(1).await;
    let new = client.send("/new", "").await;
    let error = new.await.expect_err("above the last stream id");
    assert!(error.is_go_away() && error.is_remote(), "{error:?}");
    let mut old = old.await.expect("below the last stream id");
    assert_eq!(text(old.body_mut()).await.expect("a whole body"), "old");
    drop((client.send, old));
    _ = client.connection.await.expect("it ends by itself");
    server.until_open(0).await;
}

#[tokio::test]
async fn go_away_at_may_have_acted() {
    let (server, mut client) = serve([Reaction::go_away_at(Reason::ENHANCE_YOUR_CALM)]).await;
    let error = client.ask().await.expect_err("never answered");
    assert!(error.is_go_away() || error.is_io(), "{error:?}");
    let error = client.connection.await.expect("no panic").expect_err("not a graceful end");
    assert_eq!(error.reason(), Some(Reason::ENHANCE_YOUR_CALM));
    server.until_open(0).await;
}

#[tokio::test]
async fn a_cut_body_ends_as_told() {
    for ending in
        [ConnectionEnd::Close, ConnectionEnd::Reset, ConnectionEnd::ResetStream(Reason::CANCEL)]
    {
        let (_server, mut client) = serve([Reaction::ok("abcdef").cut(2).ending(ending)]).await;
        let ended = match client.ask().await {
            Ok(mut reply) => text(reply.body_mut()).await,
            // A reset may overtake the head.
            Err(error) => Err(error),
        };
        let error = ended.expect_err("cut");
        assert_eq!(
            error.is_reset(),
            ending == ConnectionEnd::ResetStream(Reason::CANCEL),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn hang_and_stall_wait_for_the_client() {
    let (server, mut client) = serve([Reaction::hang(), Reaction::ok("ab").stall(1)]).await;
    let hung = client.send("/", "").await;
    server.until_taken(1).await;
    let mut stalled = client.ask().await.expect("a head");
    let part = stalled.body_mut().data().await.expect("a part").expect("a part");
    assert_eq!(&part[..], b"a");
    drop((hung, stalled, client.send));
    client.connection.abort();
    server.until_open(0).await;
}

#[tokio::test]
async fn a_closed_or_reset_connection_answers_nothing() {
    for reaction in [Reaction::close(), Reaction::reset(), Reaction::reset_unread()] {
        let (server, mut client) = serve([Reaction::ok("x"), reaction]).await;
        client.ask().await.expect("an answer");
        client.ask().await.expect_err("no answer");
        server.until_open(0).await;
    }
}

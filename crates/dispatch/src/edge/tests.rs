//! A server behind a socket, and clients that are slow, silent or too many.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use stagger::{Clock, Sleep, Span, TokioTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::server::HttpEdge;

/// Larger than the buffers of the operating system, so that a client that takes none of it is noticed.
const LARGE: usize = 64 << 20;

struct EdgeFixture {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl EdgeFixture {
    async fn start(most: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let routes = Router::new()
            .route("/", get(async || "hello"))
            .route("/large", get(async || vec![0; LARGE]))
            .route("/refuse", post(async || http::StatusCode::UNAUTHORIZED))
            .route("/echo", post(async |body: Bytes| body));
        let (stop, stopped) = oneshot::channel();
        let edge = HttpEdge::new(listener, routes, most);
        let task = tokio::spawn(edge.serve(async move { _ = stopped.await }));
        Self { address, stop, task }
    }

    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        stream.write_all(text.as_bytes()).await.expect("it reads");
        stream
    }
}

/// Everything until the server closes; a reset is an end, too.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads one reply, whose body has a length.
async fn reply(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut byte = [0; 1];
    while !text.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).await.expect("a whole head");
        text.push(char::from(byte[0]));
    }
    let length = text.split_once("content-length: ").and_then(|(_, it)| it.split_once('\r'));
    let length = length.map_or(0, |(length, _)| length.parse().expect("a number"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a whole body");
    text + &String::from_utf8_lossy(&body)
}

async fn closed_after(stream: &mut TcpStream) -> Span {
    let began = TokioTime.now();
    rest(stream).await;
    TokioTime.now().since(began)
}

#[tokio::test(start_paused = true)]
async fn clients_that_send_nothing_more_kept_their_connections() {
    let fixture = EdgeFixture::start(100).await;
    let head_time = Span::from_secs(10);
    for text in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: a\r\nx: "] {
        let mut stream = fixture.send(text).await;
        let after = closed_after(&mut stream).await;
        assert!(after >= head_time && after < Span::from_secs(16), "{text:?}: {after}");
    }
    let mut body =
        fixture.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n1").await;
    let after = closed_after(&mut body).await;
    assert!(after >= Span::from_secs(20) && after < Span::from_secs(26), "{after}");
    let mut idle = fixture.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(reply(&mut idle).await.ends_with("hello"));
    let after = closed_after(&mut idle).await;
    assert!(after >= Span::from_secs(70) && after < Span::from_secs(81), "{after}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_no_reply_kept_its_connection() {
    let fixture = EdgeFixture::start(1).await;
    let mut stalled = fixture.send("GET /large HTTP/1.1\r\nhost: a\r\n\r\n").await;
    // Waits for its end without reading.
    let mut byte = [0; 1];
    stalled.read_exact(&mut byte).await.expect("it begins");
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    let received = rest(&mut stalled).await.len();
    assert!(received < LARGE, "{received}");
}

#[tokio::test]
async fn a_head_without_end_filled_the_memory() {
    let fixture = EdgeFixture::start(100).await;
    let mut stream = fixture.send("GET / HTTP/1.1\r\nhost: a\r\n").await;
    let line = format!("x: {}\r\n", "y".repeat(1000));
    let mut sent = 0;
    while sent < 1 << 20 && stream.write_all(line.as_bytes()).await.is_ok() {
        sent += line.len();
    }
    let text = rest(&mut stream).await;
    assert!(sent < 1 << 20 || text.starts_with("HTTP/1.1 431 "), "{sent} {text}");
}

#[tokio::test(start_paused = true)]
async fn silent_connections_took_all_places() {
    let fixture = EdgeFixture::start(4).await;
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(fixture.send("").await);
    }
    let request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let mut early = fixture.send(request).await;
    assert!(rest(&mut early).await.starts_with("HTTP/1.1 503 "), "each gets to send its request");
    TokioTime.sleep(Span::from_secs(1)).await;
    for _ in 0..4 {
        let mut client = fixture.send(request).await;
        assert!(rest(&mut client).await.ends_with("hello"));
    }
    assert_eq!(rest(&mut silent[0]).await, "", "it lost its place");
}

#[tokio::test]
async fn a_reply_before_the_end_of_the_body_left_the_client_writing() {
    let fixture = EdgeFixture::start(100).await;
    let head = "POST /refuse HTTP/1.1\r\nhost: a\r\ncontent-length:";
    let mut short = fixture.send(&format!("{head} 5\r\n\r\n12345")).await;
    let text = reply(&mut short).await;
    assert!(text.starts_with("HTTP/1.1 401 ") && !text.contains("connection: close"), "{text}");
    short.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it is kept");
    assert!(reply(&mut short).await.ends_with("hello"));
    for unfinished in ["5\r\n\r\n123", "500000\r\n\r\n", "5\r\nexpect: 100-continue\r\n\r\n"] {
        let mut stream = fixture.send(&format!("{head} {unfinished}")).await;
        let text = rest(&mut stream).await;
        assert!(text.starts_with("HTTP/1.1 401 "), "{text}");
        assert!(text.contains("connection: close"), "{unfinished:?}: {text}");
    }
}

#[tokio::test]
async fn a_stop_waited_for_clients_with_nothing_to_say_or_cut_off_one_at_work() {
    let fixture = EdgeFixture::start(100).await;
    let mut idle = fixture.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    reply(&mut idle).await;
    let mut working =
        fixture.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n12").await;
    // It is served once another request is.
    let mut last = fixture.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    reply(&mut last).await;
    fixture.stop.send(()).expect("it waits for that");
    rest(&mut idle).await;
    working.write_all(b"345").await.expect("it is still there");
    assert!(rest(&mut working).await.ends_with("12345"));
    fixture.task.await.expect("it ends");
}

//! CONNECT: bytes to servers that a route names, under its breaker.

use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::RunningProxy;

#[tokio::test]
async fn a_tunnel_leads_to_the_server_that_it_names() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy =
        RunningProxy::start(&format!("[route.out]\nconnect = '{}'", server.address())).await;
    let mut stream = TcpStream::connect(proxy.address).await.expect("it listens");
    let connect = format!("CONNECT {0} HTTP/1.1\r\nhost: {0}\r\n\r\n", server.address());
    stream.write_all(connect.as_bytes()).await.expect("it reads");
    let mut head = vec![0; "HTTP/1.1 200 OK".len()];
    stream.read_exact(&mut head).await.expect("a reply");
    assert_eq!(head, b"HTTP/1.1 200 OK");
    stream
        .write_all(b"GET /in HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .expect("open");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.expect("it answers");
    assert!(reply.ends_with("fine"), "{reply}");
    assert_eq!(server.seen()[0].path, "/in");
    let figures = &proxy.handle.snapshot().routes[0].destinations[0];
    assert_eq!((figures.attempts, figures.succeeded), (1, 1));
}

#[tokio::test]
async fn failed_connects_open_the_breaker() {
    let port = RefusingPort::hold().expect("a port");
    let proxy = RunningProxy::start(&format!(
        "[route.out]\nconnect = '{}'\npolicy = {{ breaker = {{ consecutive = 2, open_time = '60s' }} }}",
        port.address()
    ))
    .await;
    let connect =
        format!("CONNECT {0} HTTP/1.1\r\nhost: {0}\r\nconnection: close\r\n\r\n", port.address());
    for stop in ["connect_failed", "connect_failed", "breaker_open", "breaker_open"] {
        let reply = proxy.raw(connect.as_bytes()).await;
        assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
        assert!(reply.contains(&format!("stagger-stop: {stop}")), "{reply}");
    }
    assert_eq!(proxy.handle.snapshot().routes[0].destinations[0].attempts, 2);
}

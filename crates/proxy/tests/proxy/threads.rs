//! A proxy on threads of its own.

use std::collections::BTreeSet;

use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{RunningProxy, read_until};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

async fn connected(proxy: &RunningProxy) -> TcpStream {
    TcpStream::connect(proxy.address).await.expect("it listens")
}

/// Makes a call on this connection, which stays open.
async fn call(client: &mut TcpStream) {
    client.write_all(REQUEST).await.expect("it reads");
    let reply = read_until(client, "fine").await;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}

#[tokio::test]
async fn a_request_waited_for_another_thread() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let route = format!("proxy.threads = 2\n[route.api]\nupstream = '{}'\n", server.url(""));
    let proxy = RunningProxy::start_on_threads(&route).await;
    let (mut one, mut other) = (connected(&proxy).await, connected(&proxy).await);
    for _ in 0..3 {
        call(&mut one).await;
        call(&mut other).await;
    }
    // Calls one after the other need one connection of a runtime that they share.
    let upstream: BTreeSet<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(upstream.len(), 2, "each thread has a connection of its own");
    let figures = proxy.handle.snapshot();
    assert_eq!((figures.connections, figures.routes[0].destinations[0].calls), (2, 6));
    drop(one);
    while proxy.handle.snapshot().connections > 1 {
        tokio::task::yield_now().await;
    }
    // The thread with a free hand gets the next one.
    let mut third = connected(&proxy).await;
    call(&mut third).await;
    let upstream: BTreeSet<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(upstream.len(), 2, "its thread has a connection already");
    drop((other, third));
    assert!(proxy.stop().await, "nothing was left at the end");
}

#[tokio::test]
async fn threads_outlived_their_proxy() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let route = format!(
        "proxy.threads = 2\nproxy.drain = '50ms'\n[route.api]\nupstream = '{}'\n",
        server.url("")
    );
    let proxy = RunningProxy::start_on_threads(&route).await;
    let mut clients = [connected(&proxy).await, connected(&proxy).await];
    for client in &mut clients {
        client.write_all(REQUEST).await.expect("it reads");
    }
    server.until_taken(2).await;
    assert!(!proxy.stop().await, "both calls were cut off");
    for client in &mut clients {
        let mut reply = String::new();
        _ = client.read_to_string(&mut reply).await;
        assert_eq!(reply, "", "it is closed");
    }
}

//! Requests that are ambiguous, malformed, or for no route: refused, and never passed on.

use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::client::RunningProxy;

async fn proxy(server: &TestServer) -> RunningProxy {
    RunningProxy::start(&format!(
        "[route.api]\nhost = 'api.internal'\nupstream = '{}'",
        server.url("")
    ))
    .await
}

#[tokio::test]
async fn an_ambiguous_request_reached_the_upstream() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = proxy(&server).await;
    for head in [
        "POST / HTTP/1.1\r\nhost: api.internal\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy",
        "POST / HTTP/1.1\r\nhost: api.internal\r\ncontent-length: 1, 2\r\n\r\nxy",
        "POST / HTTP/1.1\r\nhost: api.internal\r\ncontent-length: +1\r\n\r\nx",
        "POST / HTTP/1.1\r\nhost: api.internal\r\ntransfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: api.internal\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nhost: api.internal\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: api.internal\r\nhost: other\r\nconnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: api.internal\r\nx: a\r\n b\r\n\r\n",
        "GET /a/../b HTTP/1.1\r\nhost: api.internal\r\nconnection: close\r\n\r\n",
        "GET http://me:secret@api.internal/ HTTP/1.1\r\nhost: api.internal\r\nconnection: close\r\n\r\n",
        "GET  / HTTP/1.1\r\nhost: api.internal\r\n\r\n",
    ] {
        let reply = proxy.raw(head.as_bytes()).await;
        assert!(
            reply.starts_with("HTTP/1.1 400") || reply.starts_with("HTTP/1.0 400"),
            "{head:?}: {reply}"
        );
    }
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn both_lengths_were_passed_on() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = proxy(&server).await;
    let both = "POST / HTTP/1.1\r\nhost: api.internal\r\ncontent-length: 5\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n";
    proxy.raw(both.as_bytes()).await;
    let seen = server.seen();
    assert!(seen.iter().all(|it| it.path == "/" && it.body.is_empty()), "{seen:?}");
}

#[tokio::test]
async fn it_relays_to_no_server_that_no_route_names() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = RunningProxy::start(&format!("[route.api]\nupstream = '{}'", server.url(""))).await;
    let foreign =
        "GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    let reply = proxy.raw(foreign.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 421"), "{reply}");
    assert!(reply.contains("stagger-stop: no_route") && reply.contains("application/problem+json"));
    let connect = "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n";
    let reply = proxy
        .raw(format!("{connect}GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes())
        .await;
    assert!(reply.starts_with("HTTP/1.1 403") && !reply.contains("HTTP/1.1 200"), "{reply}");
    let own =
        format!("GET {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", server.url("/own"));
    assert!(proxy.raw(own.as_bytes()).await.starts_with("HTTP/1.1 200"));
    assert_eq!(server.seen()[0].path, "/own");
    assert_eq!(proxy.handle.snapshot().unrouted, 2);
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = RunningProxy::start(&format!(
        "proxy.head_size = '8KiB'\n[route.api]\nupstream = '{}'",
        server.url("")
    ))
    .await;
    let head = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "a".repeat(9 << 10));
    assert!(proxy.raw(head.as_bytes()).await.starts_with("HTTP/1.1 431"));
    let fields: String = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect();
    let head = format!("GET / HTTP/1.1\r\nhost: a\r\n{fields}\r\n");
    assert!(proxy.raw(head.as_bytes()).await.starts_with("HTTP/1.1 431"));
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_client_that_sends_its_head_byte_by_byte_is_closed() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = RunningProxy::start(&format!(
        "proxy.head_timeout = '200ms'\n[route.api]\nupstream = '{}'",
        server.url("")
    ))
    .await;
    assert_eq!(proxy.raw(b"GET / HT").await, "", "closed without a reply");
    assert_eq!(proxy.raw(b"").await, "");
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_route_to_the_proxy_itself_went_round_for_ever() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = proxy(&server).await;
    let via = "1.1 stagger,".repeat(9);
    let head = format!(
        "GET / HTTP/1.1\r\nhost: api.internal\r\nvia: {via}1.1 other\r\nconnection: close\r\n\r\n"
    );
    assert!(proxy.raw(head.as_bytes()).await.starts_with("HTTP/1.1 400"));
    let head = head.replace(&via, "1.1 stagger,");
    assert!(proxy.raw(head.as_bytes()).await.starts_with("HTTP/1.1 200"));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_body_that_does_not_come_holds_a_place_for_a_bounded_time() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = RunningProxy::start(&format!(
        "proxy.stall_timeout = '200ms'\n[route.api]\nupstream = '{}'",
        server.url("")
    ))
    .await;
    let head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf";
    assert_eq!(proxy.raw(head).await, "", "closed without a reply");
    while proxy.handle.snapshot().routes[0].in_flight > 0 {
        tokio::task::yield_now().await;
    }
}

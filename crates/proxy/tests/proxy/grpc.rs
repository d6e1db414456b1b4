//! Calls of gRPC, over HTTP/2 with prior knowledge on both sides.

use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::client::{RunningProxy, text};
use crate::grpc_call::{answer, status, unary};

fn route(server: &TestServer) -> String {
    format!(
        "[route.api]\nupstream = '{}'\nretry.grpc_methods = '/shop.Orders/Get'\n\
         policy = {{ backoff = {{ base = '1ms', cap = '2ms' }} }}",
        server.url("")
    )
}

#[tokio::test]
async fn a_method_that_may_be_called_again_is() {
    let server = TestServer::start(Script::of([status(14), answer()])).await;
    let proxy = RunningProxy::start(&route(&server)).await;
    let (reply, trailers) = unary(&proxy, "/shop.Orders/Get", "5S").await;
    assert_eq!((reply.status().as_u16(), &reply.body()[..]), (200, &b"\0\0\0\0\x02ok"[..]));
    assert_eq!(text(&trailers, "grpc-status"), "0", "trailers pass");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(text(&seen[1].headers, "grpc-previous-rpc-attempts"), "1");
    assert!(seen.iter().all(|it| text(&it.headers, "te") == "trailers"));
    assert!(
        !text(&seen[1].headers, "grpc-timeout").is_empty(),
        "what is left of the caller's time"
    );
}

#[tokio::test]
async fn a_method_that_no_route_lists_is_called_once() {
    let server = TestServer::start(Script::always(status(14))).await;
    let proxy = RunningProxy::start(&route(&server)).await;
    let (reply, _) = unary(&proxy, "/shop.Orders/Create", "5S").await;
    assert_eq!(text(reply.headers(), "grpc-status"), "14", "the server's own status");
    assert_eq!(text(reply.headers(), "stagger-stop"), "");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_refusal_speaks_grpc() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let proxy = RunningProxy::start(&route(&server)).await;
    let (reply, _) = unary(&proxy, "/shop.Orders/Get", "100m").await;
    assert_eq!((reply.status().as_u16(), text(reply.headers(), "grpc-status")), (200, "4"));
    assert_eq!(text(reply.headers(), "stagger-stop"), "deadline_exceeded");
    assert_eq!(text(reply.headers(), "content-type"), "application/grpc");
}

//! Calls of gRPC, over HTTP/2 with prior knowledge on both sides.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::net::TcpStream;

use crate::client::{RunningProxy, text};

/// The head, the body and the trailers of a unary call.
pub(crate) async fn unary(
    proxy: &RunningProxy,
    path: &str,
    timeout: &str,
) -> (Response<Bytes>, HeaderMap) {
    let stream = TcpStream::connect(proxy.address).await.expect("it listens");
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.expect("HTTP/2");
    let connection = tokio::spawn(connection);
    let request = Request::post(format!("http://api.internal{path}"))
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-timeout", timeout)
        .body(Full::new(Bytes::from_static(b"\0\0\0\0\0")))
        .expect("a request");
    let (head, body) = sender.send_request(request).await.expect("a reply").into_parts();
    let collected = body.collect().await.expect("a whole body");
    let trailers = collected.trailers().cloned().unwrap_or_default();
    connection.abort();
    (Response::from_parts(head, collected.to_bytes()), trailers)
}

pub(crate) fn answer() -> Reaction {
    Reaction::ok(&b"\0\0\0\0\x02ok"[..])
        .header("content-type", "application/grpc")
        .trailer("grpc-status", "0")
}

/// A status without a message.
pub(crate) fn status(code: u8) -> Reaction {
    let code = code.to_string();
    Reaction::ok("").header("content-type", "application/grpc").header("grpc-status", &code)
}

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

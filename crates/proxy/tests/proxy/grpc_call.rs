//! One call of gRPC, over HTTP/2 with prior knowledge, and the answers of its server.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use stagger_testkit::server::Reaction;
use tokio::net::TcpStream;

use crate::client::RunningProxy;

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

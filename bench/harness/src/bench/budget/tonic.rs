//! Calls of a gRPC channel.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::io;

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use stagger::tonic::GrpcLayer;
use tokio::io::{DuplexStream, duplex};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tower::{Layer, ServiceExt};

use super::caller::{LayoutCaller, caller, policy, retrier};
use super::connection::PIPE;
use super::upstream::Upstream;

/// The layer over tonic's channel, whose only connection is a pipe to an HTTP/2 server. A time limit is only retried
/// where the method may be called twice, so the layer is told that it may.
pub(super) fn tonic(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let retrier = retrier(policy())?;
    let connector = tower::service_fn(move |_: Uri| {
        let pipe = connect(upstream.clone());
        async { Ok::<_, io::Error>(TokioIo::new(pipe)) }
    });
    let channel =
        Endpoint::from_static("http://upstream.test").connect_with_connector_lazy(connector);
    let service = GrpcLayer::new(retrier).idempotent(|_: &Uri| true).layer(channel);
    Ok(caller(move || {
        let service = service.clone();
        async {
            let _failed = service.oneshot(request()).await;
        }
    }))
}

fn connect(upstream: Upstream) -> DuplexStream {
    let (near, far) = duplex(PIPE);
    let service = service_fn(move |_: Request<Incoming>| answer(upstream.clone()));
    let server = http2::Builder::new(TokioExecutor::new());
    tokio::spawn(server.serve_connection(TokioIo::new(far), service));
    near
}

/// A reply that is its status alone.
async fn answer(upstream: Upstream) -> Result<Response<Body>, Infallible> {
    if upstream.arrive() { Ok(Status::ok("").into_http()) } else { pending().await }
}

fn request() -> Request<Body> {
    let mut request = Request::new(Body::new(Empty::<Bytes>::new()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("/shop.Orders/Get");
    request
}

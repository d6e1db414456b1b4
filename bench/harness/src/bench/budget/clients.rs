//! Layouts with a library: the clients of reqwest, tower and tonic, and the handlers of axum.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::Url;
use stagger::http::Replay;
use stagger::reqwest::{Client, client_builder};
use stagger::tonic::GrpcLayer;
use stagger::tower::StaggerLayer;
use stagger_testkit::server::RefusingPort;
use tokio::io::{DuplexStream, duplex};
use tokio::net::{TcpStream, UnixListener};
use tokio::time::timeout;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tower::timeout::Timeout;
use tower::{Layer, ServiceExt};

use super::shared::{LayoutCaller, PATIENCE, caller, policy, retrier};
use super::upstream::{PIPE, Upstream, connect, send};
use crate::rig::ScratchFolder;

const URL: &str = "http://upstream.test/";

/// The client over a Unix socket to an HTTP server. It draws its delays from the system's chance, so its figures
/// vary a little.
pub(super) fn reqwest(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    // OK because an error says that a provider is there already.
    _ = rustls::crypto::ring::default_provider().install_default();
    let folder = Arc::new(ScratchFolder::new("bench-budget-reqwest")?);
    let socket = folder.path().join("http.sock");
    let router =
        Router::new().route("/", get(async move || upstream.answer().await.is_ok().to_string()));
    let listener = UnixListener::bind(&socket)?;
    tokio::spawn(async { axum::serve(listener, router).await });
    let inner = client_builder().no_proxy().unix_socket(socket).build()?;
    let client = Client::new(inner, policy().build()?);
    let url = URL.parse::<Url>()?;
    Ok(caller(move || {
        let (client, folder) = (client.clone(), Arc::clone(&folder));
        let request = reqwest::Request::new(Method::GET, url.clone());
        async move {
            let _failed = client.execute(request).await;
            drop(folder);
        }
    }))
}

/// tower's time limit around the layer, which drops the call.
pub(super) fn tower_timeout(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let retrier = retrier(policy())?;
    let layer = StaggerLayer::new(retrier).when(|_: &io::Error| true);
    let server = tower::service_fn(move |(): ()| upstream.clone().answer());
    let service = Timeout::new(layer.layer(server), PATIENCE);
    Ok(caller(move || {
        let service = service.clone();
        async {
            let _elapsed = service.oneshot(()).await;
        }
    }))
}

/// The HTTP layer over hyper, with a connection for each attempt. In the outage nothing listens on the port, and
/// each dial counts as an arrival.
pub(super) fn refused_port(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let retrier = retrier(policy())?;
    let closed = Arc::new(RefusingPort::hold()?);
    let server =
        tower::service_fn(move |request| dial(upstream.clone(), Arc::clone(&closed), request));
    let service = StaggerLayer::http(retrier).layer(server);
    Ok(caller(move || {
        let service = service.clone();
        async {
            let request = Request::get("http://upstream.test/").body(Empty::<Bytes>::new());
            if let Ok(request) = request {
                let _refused = service.oneshot(request).await;
            }
        }
    }))
}

async fn dial(
    upstream: Upstream,
    closed: Arc<RefusingPort>,
    request: Request<Replay<Empty<Bytes>>>,
) -> io::Result<Response<Empty<Bytes>>> {
    if upstream.arrive() {
        return send(connect(Router::new().fallback(async || "fine")), request).await;
    }
    send(TcpStream::connect(closed.address()).await?, request).await
}

/// The layer over tonic's channel, whose only connection is a pipe to an HTTP/2 server. A time limit is only retried
/// where the method may be called twice, so the layer is told that it may.
pub(super) fn tonic(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let retrier = retrier(policy())?;
    let connector = tower::service_fn(move |_: Uri| {
        let pipe = connect_http2(upstream.clone());
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

fn connect_http2(upstream: Upstream) -> DuplexStream {
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

/// Each client has a connection of its own and closes it when its patience ends. hyper then drops the handler's
/// future, and the call with it.
pub(super) fn axum_disconnect(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let retrier = retrier(policy())?;
    let handler = async move || {
        let call = retrier.retry(|| upstream.clone().answer()).when(|_: &io::Error| true);
        call.await.map_or(StatusCode::BAD_GATEWAY, |()| StatusCode::OK)
    };
    let front = Router::new().route("/", get(handler));
    Ok(caller(move || {
        let front = front.clone();
        async {
            let request = Request::new(Empty::<Bytes>::new());
            let _elapsed = timeout(PATIENCE, send(connect(front), request)).await;
        }
    }))
}

//! Calls of services.

use std::error::Error;
use std::io;
use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use stagger::http::Replay;
use stagger::tower::StaggerLayer;
use stagger_testkit::server::RefusingPort;
use tokio::net::TcpStream;
use tower::timeout::Timeout;
use tower::{Layer, ServiceExt, service_fn};

use super::caller::{LayoutCaller, PATIENCE, caller, policy, retrier};
use super::connection::{connect, send};
use super::upstream::Upstream;

/// tower's time limit around the layer, which drops the call.
pub(super) fn tower_timeout(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let retrier = retrier(policy())?;
    let layer = StaggerLayer::new(retrier).retry_if(|_: &io::Error| true);
    let server = service_fn(move |(): ()| upstream.clone().answer());
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
    let server = service_fn(move |request| dial(upstream.clone(), Arc::clone(&closed), request));
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

//! A web service whose dependency fails for a while.
//!
//! If each request retried on its own, and waited for its own time limits, an outage there would soon
//! be one here: every request holds a task for seconds, and sends three. One policy for all shares
//! what they learn. The budget keeps retries few; when half the calls fail the breaker opens, and
//! requests are answered at once: 503, and when to come back.
//!
//! A caller may retry as well. It says so by a header, and the layer on the way in sees to it that its
//! request is one behind us too, and not three: the caller makes the others.
//!
//! `cargo run -p stagger --example axum --features http,tokio,tower`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use axum::Router;
use axum::extract::{Path, State};
use axum::{response::IntoResponse, response::Response, routing::get};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use stagger::breaker::BreakerPlan;
use stagger::http::DeadlineBody;
use stagger::tower::{InboundLayer, ServiceError, StaggerLayer};
use stagger::{Policy, Retrier, Sleep, Span, Stop, TokioTime};
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt};

/// The breaker's first open time.
const OPEN: Span = Span::from_millis(300);

/// The dependency, which can be broken, and counts what it is asked.
#[derive(Default)]
struct Warehouse {
    broken: AtomicBool,
    requests: AtomicU32,
}

async fn lookup(State(warehouse): State<Arc<Warehouse>>, Path(path): Path<String>) -> Response {
    warehouse.requests.fetch_add(1, Ordering::Relaxed);
    let broken = warehouse.broken.load(Ordering::Relaxed);
    (if broken { StatusCode::BAD_GATEWAY } else { StatusCode::OK }, path).into_response()
}

/// The client of all handlers: clones share one budget and one breaker.
type Shared = BoxCloneSyncService<Request<Empty<Bytes>>, Reply, ServiceError>;
type Reply = http::Response<DeadlineBody<Incoming, TokioTime>>;

fn shared(policy: Policy) -> Shared {
    let retrier = Retrier::new(policy, TokioTime).named("warehouse");
    let client = Client::builder(TokioExecutor::new()).build_http();
    BoxCloneSyncService::new(StaggerLayer::http(retrier).layer(client))
}

/// Asks the dependency, and says what its trouble means for our own caller.
async fn ask(client: Shared, url: String) -> Result<Response, StatusCode> {
    let request = Request::get(url).body(Empty::new()).map_err(|_| StatusCode::BAD_REQUEST)?;
    match client.oneshot(request).await {
        Ok(reply) if reply.status().is_success() => {
            let body = reply.into_body().collect().await.map_err(|_| StatusCode::BAD_GATEWAY)?;
            Ok(body.to_bytes().into_response())
        }
        Err(failed) if failed.end().is_some_and(|end| end.stop() == Stop::BreakerOpen) => {
            let wait = [("retry-after", OPEN.as_secs_ceil().to_string())];
            Ok((StatusCode::SERVICE_UNAVAILABLE, wait).into_response())
        }
        Ok(_) | Err(_) => Err(StatusCode::BAD_GATEWAY),
    }
}

fn front(client: Shared, warehouse: SocketAddr) -> Router {
    let handler = move |path: &'static str| {
        let client = client.clone();
        get(async move |Path(item): Path<String>| {
            ask(client, format!("http://{warehouse}/{path}/{item}")).await
        })
    };
    let routes = Router::new().route("/stock/{item}", handler("stock"));
    routes.route("/price/{item}", handler("price")).layer(InboundLayer::new())
}

async fn serve(router: Router) -> std::io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, router).await });
    Ok(address)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let breaker = BreakerPlan::builder().open_time(OPEN).build()?;
    let policy = Policy::interactive().to_builder().breaker(breaker).build()?;
    let warehouse = Arc::new(Warehouse::default());
    let lookup = Router::new().route("/{*path}", get(lookup)).with_state(Arc::clone(&warehouse));
    let front = serve(front(shared(policy), serve(lookup).await?)).await?;
    let browser = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let visit = async |path| {
        let page = format!("http://{front}/{path}").parse().expect("an address");
        browser.get(page).await
    };

    assert_eq!(visit("stock/bolt").await?.status(), StatusCode::OK);
    warehouse.broken.store(true, Ordering::Relaxed);
    let before = warehouse.requests.load(Ordering::Relaxed);
    let page = format!("http://{front}/stock/bolt");
    let told = Request::get(page).header("stagger-attempt", 1).body(Empty::new())?;
    assert_eq!(browser.request(told).await?.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(warehouse.requests.load(Ordering::Relaxed) - before, 1, "its caller retries");

    let mut refused = 0;
    for page in 0..100 {
        let reply = visit(["stock/bolt", "price/nut"][page % 2]).await?;
        if reply.status() == StatusCode::SERVICE_UNAVAILABLE {
            assert_eq!(reply.headers()["retry-after"], "1");
            refused += 1;
        }
    }
    let requests = warehouse.requests.load(Ordering::Relaxed);
    println!("100 pages, {requests} requests behind them; {refused} answered at once");
    assert!(refused > 50 && requests < 60);

    warehouse.broken.store(false, Ordering::Relaxed);
    TokioTime.sleep(OPEN + OPEN).await;
    assert_eq!(visit("price/nut").await?.status(), StatusCode::OK);
    Ok(())
}

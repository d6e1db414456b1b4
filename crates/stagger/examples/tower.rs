//! A service behind tower layers, whose server is busy at first.
//!
//! `cargo run -p stagger --example tower --features http,tokio,tower`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use stagger::http::Replay;
use stagger::tower::StaggerLayer;
use stagger::{Backoff, Policy, Retrier, Span, TokioTime};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

/// Stands in for an HTTP client: busy for the first two requests.
fn request(seen: &AtomicU32) -> Ready<io::Result<Response<String>>> {
    let mut reply = Response::new("12 left".to_owned());
    if seen.fetch_add(1, Ordering::Relaxed) < 2 {
        *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    ready(Ok(reply))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let policy = Policy::builder()
        .backoff(Backoff::exponential(Span::from_millis(10), Span::from_secs(1))?)
        .attempt_timeout(Span::from_secs(2))
        .deadline(Span::from_secs(5))
        .build()?;
    let retrier = Retrier::new(policy, TokioTime);
    let seen = Arc::new(AtomicU32::new(0));
    let requests = Arc::clone(&seen);
    let mut inventory = ServiceBuilder::new()
        .timeout(Duration::from_secs(10)) // once for the call
        .layer(StaggerLayer::http(retrier))
        .concurrency_limit(8) // once for each attempt
        .service(service_fn(move |_: Request<Replay<String>>| request(&requests)));

    let bolts = Request::get("/stock/bolt").body(String::new())?;
    let reply = inventory.ready().await?.call(bolts).await?;
    let (status, stock) = (reply.status(), reply.into_body().collect().await?.to_bytes());
    println!("{status}: {}", String::from_utf8_lossy(&stock));

    let order = Request::post("/orders").body(String::new())?;
    seen.store(0, Ordering::Relaxed);
    let reply = inventory.ready().await?.call(order).await?;
    println!("an order is not sent twice: {}", reply.status());
    Ok(())
}

//! A function with 3 s left to answer.
//!
//! A platform ends a function at its deadline in mid-air: the work is lost, the caller is told
//! nothing, and it is billed. So the policy of each call has what the platform leaves, less what it
//! takes to answer. An attempt that could not end in time is not begun, and a server that asks to
//! stay away for longer ends the call at once; the caller is told how long.
//!
//! All calls of one instance share a budget, so what the instance learned stays.
//!
//! `cargo run -p stagger --example serverless --features http,tokio,tower`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use stagger::http::Replay;
use stagger::tower::StaggerLayer;
use stagger::{Clock, Instant, LocalLedger, Policy, Retrier, Sleep, Span, TokioTime};
use tower::{Layer, ServiceExt};

/// The time that the function keeps for its own answer.
const ANSWER: Span = Span::from_millis(200);

/// The state that lives as long as the instance.
struct Instance {
    client: Client<HttpConnector, Replay<Empty<Bytes>>>,
    policy: Policy,
    ledger: Arc<LocalLedger>,
    stock: String,
}

impl Instance {
    /// One invocation, which the platform ends at `deadline`.
    async fn handle(&self, item: &str, deadline: Instant) -> http::Result<Response<String>> {
        let busy = |wait: &str, why: String| {
            let answer = Response::builder().status(StatusCode::SERVICE_UNAVAILABLE);
            answer.header("retry-after", wait).body(why)
        };
        let left = deadline - TokioTime.now() - ANSWER;
        let Ok(policy) = self.policy.to_builder().deadline(left).build() else {
            return busy("0", format!("{left} left"));
        };
        let retrier = Retrier::new(policy, TokioTime).with_ledger(Arc::clone(&self.ledger));
        let stock = StaggerLayer::http(retrier).layer(self.client.clone());
        let request = Request::get(format!("{}/{item}", self.stock)).body(Empty::new())?;
        match stock.oneshot(request).await {
            Ok(reply) if reply.status().is_success() => match reply.into_body().collect().await {
                Ok(body) => Response::builder().body(text(&body.to_bytes())),
                Err(error) => busy("1", error.to_string()),
            },
            // The caller is told what the server asked for, and decides whether that is worth it.
            Ok(reply) => {
                let wait = reply.headers().get("retry-after").and_then(|value| value.to_str().ok());
                busy(wait.unwrap_or("1"), reply.status().to_string())
            }
            Err(failed) => busy("1", failed.to_string()),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A server that knows about bolts, hangs over nuts, and is busy for 20 s with washers.
fn stock() -> Router {
    let hang = async || TokioTime.sleep(Span::from_secs(60)).await;
    let busy = async || (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "20")]);
    Router::new()
        .route("/bolt", get("12 left"))
        .route("/nut", get(hang))
        .route("/washer", get(busy))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let stock_address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, stock()).await });

    let policy = Policy::builder()
        .attempt_timeout(Span::from_secs(1))
        .min_attempt_time(Span::from_millis(500))
        .build()?;
    let instance = Instance {
        client: Client::builder(TokioExecutor::new()).build_http(),
        policy,
        ledger: Arc::new(LocalLedger::new(&policy)),
        stock: format!("http://{stock_address}"),
    };
    for (item, status, wait) in
        [("bolt", 200, None), ("washer", 503, Some("20")), ("nut", 503, Some("1"))]
    {
        let start = TokioTime.now();
        let answer = instance.handle(item, start + Span::from_secs(3)).await?;
        let took = TokioTime.now() - start;
        println!("{item}: {} {:?} after {took}", answer.status(), answer.body());
        assert!(took < Span::from_secs(3), "the platform ended it");
        assert_eq!(answer.status(), status);
        assert_eq!(
            answer.headers().get("retry-after").map(|value| value.as_bytes()),
            wait.map(str::as_bytes)
        );
    }
    Ok(())
}

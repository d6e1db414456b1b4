//! A web service with the dispatcher inside: one process, one listener, one shutdown.
//!
//! The host has its own routes, and the dispatcher's API below a path of its own. The store is a file of the embedded
//! SQLite. The host sends messages by a call of a function, and other programs by the API.
//!
//! `cargo run -p stagger-dispatch --example embedded`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::routing::post;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use stagger::{Instant, Span, StdTime};
use stagger_dispatch::api::{self, ApiOptions};
use stagger_dispatch::model::{ApplicationId, KeyHash};
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::sender::{Received, SendOptions, Sender, TOLERANCE, Verifier};
use stagger_dispatch::store::{SqliteOptions, SqliteStore};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tower_service::Service;

/// The host's key for the API. A real one comes from its settings.
const ADMIN_KEY: &str = "a secret of the host";

/// Opens the store in `data` and starts to deliver.
async fn start_node(data: &Path) -> Result<Node, Box<dyn Error>> {
    let store = Arc::new(SqliteStore::open(data, SqliteOptions::default())?);
    // Without `allow_private` only public addresses on the usual ports are reached.
    let sender = Sender::new(SendOptions { allow_private: true, ..SendOptions::default() })?;
    Ok(Node::start(store, sender, NodeOptions::default()).await?)
}

/// The host's router, with the API below `/hooks`.
fn router(node: &Node, shop: Shop) -> Router {
    let options = ApiOptions { admin: Some(KeyHash::of(ADMIN_KEY)), ..ApiOptions::default() };
    Router::new()
        .route("/orders", post(take_order))
        .with_state(shop)
        .nest("/hooks", api::router(node.clone(), options))
}

/// The state of the host's own handlers.
#[derive(Clone)]
struct Shop {
    node: Node,
    application: ApplicationId,
}

/// Takes an order and tells the endpoints of it. The answer comes once the message is on disk.
async fn take_order(State(shop): State<Shop>, order: Bytes) -> Result<String, StatusCode> {
    let taken = "order.taken".parse().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let message = Submission::json(taken, order);
    let accepted = shop.node.accept(shop.application, vec![message]).await;
    let accepted = accepted.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(accepted.iter().map(|message| message.id.to_string()).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let data = std::env::temp_dir().join(format!("stagger-embedded-host-{}", std::process::id()));
    let node = start_node(&data).await?;

    // The API is a service: this calls it without a listener, as a test of the host would.
    let options = ApiOptions { admin: Some(KeyHash::of(ADMIN_KEY)), ..ApiOptions::default() };
    let mut service = api::router(node.clone(), options);
    let made = call(&mut service, "/v1/applications", r#"{"name":"shop"}"#.into()).await?;
    let application: ApplicationId = text(&made, "id").parse()?;

    let (receiver, mut received, secret) = receiver(&mut service, application).await?;
    let shop = Shop { node: node.clone(), application };
    let mut host = router(&node, shop);

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let served = host.clone();
    let serving = tokio::spawn(async move {
        // The host's own signal: Ctrl-C, or whatever ends it.
        let stop = async move { _ = stopped.await };
        axum::serve(listener, served).with_graceful_shutdown(stop).await
    });

    let request = Request::post("/orders").body(Body::from(r#"{"order":7}"#))?;
    let reply = host.call(request).await?;
    assert_eq!(reply.status(), StatusCode::OK);
    let (headers, body) = received.recv().await.ok_or("the receiver has ended")?;
    verify(&secret, &headers, &body)?;
    println!("verified {}", std::str::from_utf8(&body)?);
    let request = Request::get("/hooks/v1/applications").body(Body::empty())?;
    assert_eq!(host.call(request).await?.status(), StatusCode::UNAUTHORIZED);

    // No more requests first, then the attempts in flight. What is not finished goes on at the next start.
    stop.send(()).map_err(|()| "the server has ended")?;
    serving.await??;
    node.shutdown(Span::from_secs(30)).await;
    receiver.abort();
    std::fs::remove_dir_all(&data)?;
    println!("shut down");
    Ok(())
}

/// Makes a receiver and its endpoint; returns its task, what it receives, and its secret.
async fn receiver(
    api: &mut Router,
    application: ApplicationId,
) -> Result<(tokio::task::JoinHandle<()>, Inbound, String), Box<dyn Error>> {
    let (told, received) = mpsc::unbounded_channel();
    let take = async move |headers: HeaderMap, body: Bytes| {
        _ = told.send((headers, body));
        StatusCode::NO_CONTENT
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let routes = Router::new().route("/", post(take));
    let task = tokio::spawn(async move {
        // It ends with the example.
        _ = axum::serve(listener, routes).await;
    });
    let path = format!("/v1/applications/{application}/endpoints");
    let endpoint = call(api, &path, format!(r#"{{"url":"{url}"}}"#)).await?;
    Ok((task, received, text(&endpoint, "secret").to_owned()))
}

/// The requests of a receiver.
type Inbound = mpsc::UnboundedReceiver<(HeaderMap, Bytes)>;

/// Checks a signature, as any receiver can with a library for Standard Webhooks.
fn verify(secret: &str, headers: &HeaderMap, body: &[u8]) -> Result<(), Box<dyn Error>> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let received = Received {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
        body,
    };
    let now = StdTime::wall().duration_since(std::time::UNIX_EPOCH)?;
    let now = Instant::ORIGIN + Span::from_secs(now.as_secs());
    Ok(Verifier::parse([secret])?.verify(&received, now, TOLERANCE)?)
}

/// Posts to the API as the admin.
async fn call(api: &mut Router, path: &str, body: String) -> Result<Value, Box<dyn Error>> {
    let request = Request::post(path)
        .header("authorization", format!("Bearer {ADMIN_KEY}"))
        .header("content-type", "application/json")
        .body(Body::from(body))?;
    let reply = api.call(request).await?;
    let status = reply.status();
    let body = reply.into_body().collect().await?.to_bytes();
    assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
    Ok(serde_json::from_slice(&body)?)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

//! The API below a path of a host that owns the listener.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use stagger_dispatch::api::{self, ApiOptions};
use stagger_dispatch::node::{Node, NodeOptions};
use stagger_dispatch::sender::{SendOptions, Sender};
use stagger_dispatch::store::MemoryStore;
use stagger_scheduler::model::KeyHash;
use tower_service::Service;

const ADMIN: &str = "the key of the host";

async fn host() -> (Node, Router) {
    let sender = Sender::new(SendOptions::default()).expect("no certificates");
    let store = Arc::new(MemoryStore::default());
    let node = Node::start(store, sender, NodeOptions::default()).await.expect("it starts");
    let options = ApiOptions { admin: Some(KeyHash::of(ADMIN)), ..ApiOptions::default() };
    let router = Router::new()
        .route("/", get(async || "the host's own page"))
        .nest("/internal/hooks", api::router(node.clone(), options));
    (node, router)
}

/// Calls the router as a service, without a listener.
async fn ask(
    router: &mut Router,
    (method, path): (&str, &str),
    key: Option<&str>,
    body: &'static str,
) -> (StatusCode, Value) {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header("content-type", "application/json");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let request = request.body(Body::from(body)).expect("it is valid");
    let reply = router.call(request).await.expect("it never fails");
    let status = reply.status();
    let bytes = reply.into_body().collect().await.expect("it is whole").to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn the_api_below_a_path_asked_for_no_key_or_took_none() {
    let (node, mut router) = host().await;
    let applications = "/internal/hooks/v1/applications";
    let make = ("POST", applications);
    let (status, _) = ask(&mut router, make, None, r#"{"name":"shop"}"#).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, _) = ask(&mut router, make, Some("another"), r#"{"name":"shop"}"#).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(node.applications().is_empty());
    let (status, made) = ask(&mut router, make, Some(ADMIN), r#"{"name":"shop"}"#).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str());
    let messages = format!("{applications}/{id}/messages");
    let body = r#"{"event_type":"order.paid","payload":{"order":7}}"#;
    let (status, accepted) = ask(&mut router, ("POST", &messages), key, body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{accepted}");
    let (status, _) = ask(&mut router, ("GET", applications), key, "").await;
    assert_eq!(status, StatusCode::FORBIDDEN, "an application's key is not the admin's");
    let (status, document) =
        ask(&mut router, ("GET", "/internal/hooks/v1/openapi.json"), None, "").await;
    assert_eq!((status, document["openapi"].as_str()), (StatusCode::OK, Some("3.1.0")));
    let (status, _) = ask(&mut router, ("GET", "/"), None, "").await;
    assert_eq!(status, StatusCode::OK);
}

//! A node behind a socket, and a client of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use stagger_brokers::Brokers;
use stagger_dispatch::api::{self, ApiOptions};
use stagger_dispatch::node::{Node, NodeOptions};
use stagger_scheduler::model::KeyHash;
use stagger_sender::{SendOptions, Sender};
use stagger_store::{DeliveryStore, MemoryStore};
use tokio::task::AbortHandle;

pub(crate) const ADMIN: &str = "admin key of these tests";
/// Nothing listens there.
pub(crate) const RECEIVER: &str = "http://127.0.0.1:1/";

pub(crate) struct Server {
    pub(crate) node: Node,
    address: String,
    client: Client<HttpConnector, Full<Bytes>>,
    serving: AbortHandle,
}

impl Drop for Server {
    /// Ends the server, so that the store is free once its connections are closed.
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(crate) struct Tenant {
    pub(crate) path: String,
    pub(crate) key: String,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap_or_else(|| panic!("no {name} in {self:?}")).to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("as the API promises"))
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Asserts that a reply is a refusal that names this member.
    #[track_caller]
    pub(crate) fn refused(self, status: u16) -> Self {
        let reply = self.expect(status);
        assert_eq!(reply.header("content-type"), "application/problem+json");
        assert_eq!(reply.json()["status"], status);
        assert!(reply.json()["detail"].is_string() && reply.json()["title"].is_string());
        reply
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(ApiOptions::default()).await
    }

    pub(crate) async fn with(options: ApiOptions) -> Self {
        Self::on(Arc::new(MemoryStore::default()), NodeOptions::default(), options).await
    }

    #[cfg(all(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
    pub(crate) async fn with_node(options: NodeOptions) -> Self {
        Self::on(Arc::new(MemoryStore::default()), options, ApiOptions::default()).await
    }

    pub(crate) async fn on(
        store: Arc<dyn DeliveryStore>,
        node_options: NodeOptions,
        options: ApiOptions,
    ) -> Self {
        let sender = Sender::new(SendOptions { allow_private: true, ..SendOptions::default() });
        let sender = sender.expect("good options").with_destinations(Arc::new(Brokers));
        let node = Node::start(store, sender, node_options).await.expect("as the API promises");
        let options = ApiOptions { admin: Some(KeyHash::of(ADMIN)), ..options };
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("as the API promises");
        let address = listener.local_addr().expect("as the API promises").to_string();
        let router = api::router(node.clone(), options);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        let serving = serving.abort_handle();
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { node, address, client, serving }
    }

    pub(crate) async fn send(&self, request: http::request::Builder, body: Bytes) -> Reply {
        let request = request.body(Full::new(body)).expect("as the API promises");
        let (head, body) =
            self.client.request(request).await.expect("as the API promises").into_parts();
        let body = body.collect().await.expect("as the API promises").to_bytes();
        Reply { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub(crate) fn request(&self, method: &str, path: &str, key: &str) -> http::request::Builder {
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).expect("as the API promises"))
            .uri(format!("http://{}{path}", self.address))
            .header("content-type", "application/json");
        if key.is_empty() {
            request
        } else {
            request.header("authorization", format!("Bearer {key}"))
        }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, key: &str, body: &str) -> Reply {
        self.send(self.request(method, path, key), Bytes::copy_from_slice(body.as_bytes())).await
    }

    pub(crate) async fn get(&self, path: &str, key: &str) -> Reply {
        self.call("GET", path, key, "").await
    }

    pub(crate) async fn tenant(&self, name: &str) -> Tenant {
        let body = serde_json::json!({ "name": name }).to_string();
        let reply = self.call("POST", "/v1/applications", ADMIN, &body).await.expect(201);
        let path = format!("/v1/applications/{}", reply.text("id"));
        Tenant { path, key: reply.text("key") }
    }

    pub(crate) async fn endpoint(&self, tenant: &Tenant) -> String {
        let path = format!("{}/endpoints", tenant.path);
        let body = serde_json::json!({ "url": RECEIVER }).to_string();
        let reply = self.call("POST", &path, &tenant.key, &body).await.expect(201);
        format!("{path}/{}", reply.text("id"))
    }

    pub(crate) async fn message(&self, tenant: &Tenant) -> String {
        let path = format!("{}/messages", tenant.path);
        let body = r#"{"event_type": "invoice.paid", "payload": {"id": 1}}"#;
        let reply = self.call("POST", &path, &tenant.key, body).await.expect(202);
        format!("{path}/{}", reply.text("id"))
    }
}

/// The last part of a path: the id.
pub(crate) fn id(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

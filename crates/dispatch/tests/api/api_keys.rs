//! API keys with names and scopes: made, limited, and ended at once on every node.

use std::sync::Arc;

use serde_json::{Value, json};
use stagger_dispatch::api::ApiOptions;
use stagger_dispatch::node::NodeOptions;
use stagger_scheduler::model::EventValidation;
use stagger_store::testing::FaultyStore;

use crate::document::operations;
use crate::event_types::Folder;
use crate::roles::Operators;
use crate::server::{ADMIN, Reply, Server, id};

const ALL: [&str; 11] = [
    "admin",
    "applications:read",
    "applications:write",
    "audit:read",
    "deliveries:write",
    "endpoints:read",
    "endpoints:write",
    "event_types:read",
    "event_types:write",
    "messages:read",
    "messages:write",
];

async fn create(server: &Server, by: &str, new: &Value) -> Reply {
    server.call("POST", "/v1/api-keys", by, &new.to_string()).await
}

/// A key with these scopes.
async fn key(server: &Server, scopes: &[&str], application: Option<&str>) -> String {
    let new = json!({"name": "a program", "scopes": scopes, "application": application});
    create(server, ADMIN, &new).await.expect(201).text("key")
}

/// The scopes that an operation takes, by the documentation of the scopes.
fn needed(method: &str, path: &str) -> Vec<&'static str> {
    let whole = ALL.iter().copied().filter(|scope| {
        !["admin", "audit:read", "event_types:read", "event_types:write"].contains(scope)
    });
    let last = path.rsplit('/').next().unwrap_or_default();
    match (method, path) {
        ("POST", "/v1/applications") => return whole.collect(),
        ("GET", "/v1/applications" | "/v1/applications/{app}") => return vec!["applications:read"],
        (_, "/v1/applications/{app}") => return vec!["applications:write"],
        ("GET", "/v1/audit") => return vec!["audit:read"],
        ("GET", "/v1/nodes" | "/v1/operators") => return vec!["admin"],
        _ => {}
    }
    if path.starts_with("/v1/api-keys") {
        return vec!["admin"];
    }
    if path.starts_with("/v1/event-types") {
        return vec![if method == "GET" { "event_types:read" } else { "event_types:write" }];
    }
    if last == "keys" || (method == "POST" && last == "portal-links") {
        return whole.collect();
    }
    if path.contains("/portal-links") {
        return vec!["applications:write"];
    }
    if ["cancel", "replay", "replay-missing", "retry"].contains(&last) {
        return vec!["deliveries:write"];
    }
    match (path.contains("/endpoints"), last, method) {
        (true, "filter-test", _) => vec!["endpoints:read", "messages:read"],
        (true, "secrets", _) => vec!["endpoints:write"],
        (true, _, "GET") => vec!["endpoints:read"],
        (true, ..) => vec!["endpoints:write"],
        (false, _, "GET") => vec!["messages:read"],
        (false, ..) => vec!["messages:write"],
    }
}

#[tokio::test]
async fn a_scope_gave_access_to_more_or_less_than_it_says() {
    let server = Server::start().await;
    let (nothing, mut callers) = ("0".repeat(32), Vec::new());
    for scope in ALL {
        callers.push((vec![scope], key(&server, &[scope], None).await));
    }
    let all_but = |left_out: &str| -> Vec<&str> {
        ALL.into_iter().filter(|scope| *scope != "admin" && *scope != left_out).collect()
    };
    for left_out in &ALL[1..] {
        let scopes = all_but(left_out);
        let made = key(&server, &scopes, None).await;
        callers.push((scopes, made));
    }
    let mut refusals = 0;
    for (method, path, operation) in operations() {
        if operation["responses"]["401"].is_null() {
            continue;
        }
        let needed = needed(&method, &path);
        let body = if operation["requestBody"].is_null() { "" } else { "[]" };
        let path = path
            .replace("{app}", &format!("app_{nothing}"))
            .replace("{ep}", &format!("ep_{nothing}"))
            .replace("{msg}", &format!("msg_{nothing}"))
            .replace("{link}", &format!("link_{nothing}"))
            .replace("{key}", &format!("key_{nothing}"))
            .replace("{name}", "none");
        for (scopes, key) in &callers {
            let reply = server.call(&method, &path, key, body).await;
            let may = scopes == &["admin"] || needed.iter().all(|scope| scopes.contains(scope));
            assert_eq!(reply.status != 403, may, "{method} {path} with {scopes:?}: {reply:?}");
            assert_ne!(reply.status, 401, "{method} {path} with {scopes:?}");
            refusals += u32::from(!may);
        }
        let unknown = format!("stgr_{}", "A".repeat(43));
        server.call(&method, &path, &unknown, body).await.refused(401);
    }
    assert!(refusals > 400, "{refusals}");
}

#[tokio::test]
async fn a_key_for_one_application_reached_another_one() {
    let folder = Folder::new("limited");
    let server = folder.serve(EventValidation::Off).await;
    let (own, other) = (server.tenant("own").await, server.tenant("other").await);
    let (own_endpoint, own_message) = (server.endpoint(&own).await, server.message(&own).await);
    let (endpoint, message) = (server.endpoint(&other).await, server.message(&other).await);
    let scopes = &ALL[1..];
    let limited: Vec<_> = scopes
        .iter()
        .copied()
        .filter(|it| !["audit:read", "event_types:read", "event_types:write"].contains(it))
        .collect();
    let key = key(&server, &limited, Some(id(&own.path))).await;
    server.get(&own.path, &key).await.expect(200);
    server.get(&own_endpoint, &key).await.expect(200);
    server.get(&own_message, &key).await.expect(200);
    let mut tried = 0;
    for (method, path, operation) in operations() {
        if operation["responses"]["401"].is_null() {
            continue;
        }
        let body = if operation["requestBody"].is_null() { "" } else { "{}" };
        let others = path
            .replace("{app}", id(&other.path))
            .replace("{ep}", id(&endpoint))
            .replace("{msg}", id(&message))
            .replace("{link}", &format!("link_{}", "0".repeat(32)));
        let reply = server.call(&method, &others, &key, body).await;
        let expected =
            if path.contains("{app}") && !is_for_operators(&operation) { 404 } else { 403 };
        assert_eq!(reply.status, expected, "{method} {others}: {reply:?}");
        tried += 1;
        // Things of the other application are not found below its own either.
        if path.contains("{ep}") || path.contains("{msg}") {
            let mixed = path
                .replace("{app}", id(&own.path))
                .replace("{ep}", id(&endpoint))
                .replace("{msg}", id(&message));
            let reply = server.call(&method, &mixed, &key, body).await;
            assert_eq!(reply.status, 404, "{method} {mixed}: {reply:?}");
        }
    }
    assert!(tried > 40, "{tried}");
    server.get(&endpoint, &other.key).await.expect(200);
    server.get(&message, &other.key).await.expect(200);
    let found = server.get(&format!("{}/deliveries", own.path), &key).await.expect(200).json();
    let others = found["items"].as_array().expect("a list").iter();
    assert_eq!(others.filter(|it| it["endpoint"] == id(&endpoint)).count(), 0, "{found}");
    // It goes with its application.
    server.call("DELETE", &own.path, ADMIN, "").await.expect(204);
    server.get(&other.path, &key).await.refused(401);
    assert_eq!(server.get("/v1/api-keys", ADMIN).await.json()["items"], json!([]));
}

fn is_for_operators(operation: &Value) -> bool {
    !operation["security"].is_null()
}

#[tokio::test]
async fn a_key_is_shown_once_and_listed_without_it() {
    let folder = Folder::new("shown");
    let server = folder.serve(EventValidation::Off).await;
    let tenant = server.tenant("shop").await;
    let new = json!({
        "name": "billing",
        "scopes": ["messages:write", "endpoints:read", "messages:write"],
        "application": id(&tenant.path),
        "expires_at": "2100-01-01T00:00:00Z",
    });
    let made = create(&server, ADMIN, &new).await.expect(201);
    assert_eq!(made.header("cache-control"), "no-store");
    let key = made.text("key");
    assert!(key.starts_with("stgr_") && key.len() == 48, "{key}");
    assert_eq!(made.json()["scopes"], json!(["endpoints:read", "messages:write"]));
    let list = async || server.get("/v1/api-keys", ADMIN).await.expect(200);
    let listed = list().await.json();
    let first = &listed["items"][0];
    assert_eq!((&first["name"], &first["application"]), (&new["name"], &new["application"]));
    assert_eq!(first["expires_at"], "2100-01-01T00:00:00.000Z");
    assert_eq!(first["last_used_on"], Value::Null);
    assert!(!listed.to_string().contains(&key) && first["key"].is_null(), "{listed}");

    let body = r#"{"event_type": "invoice.paid", "payload": 1}"#;
    let path = format!("{}/messages", tenant.path);
    server.call("POST", &path, &key, body).await.expect(202);
    let today = stagger_text::Timestamp(stagger::Instant::ORIGIN + wall()).to_string();
    // It is noted beside the call.
    while list().await.json()["items"][0]["last_used_on"].is_null() {
        tokio::task::yield_now().await;
    }
    assert_eq!(list().await.json()["items"][0]["last_used_on"], today[..10]);

    let keys = made.text("id");
    let log = server.get("/v1/audit", ADMIN).await.expect(200).json();
    assert_eq!(log["items"][0]["action"], "POST /v1/api-keys");
    assert!(!log.to_string().contains(&key), "{log}");
    server.node.shutdown(stagger::Span::ZERO).await;
    drop(server);
    let server = folder.serve(EventValidation::Off).await;
    server.call("POST", &path, &key, body).await.expect(202);
    server.call("DELETE", &format!("/v1/api-keys/{keys}"), ADMIN, "").await.expect(204);
    server.call("POST", &path, &key, body).await.refused(401);
    server.call("DELETE", &format!("/v1/api-keys/{keys}"), ADMIN, "").await.refused(404);
}

fn wall() -> stagger::Span {
    let now = stagger::StdTime::wall().duration_since(std::time::UNIX_EPOCH);
    now.expect("after 1970").into()
}

#[tokio::test]
async fn a_key_was_made_with_more_rights_than_its_maker_or_out_of_bounds() {
    let operators = Operators::new("makers");
    let operator =
        operators.file.add("alice", stagger_dispatch::access::Role::Operator).expect("new");
    let server = operators.serve().await;
    let tenant = server.tenant("shop").await;
    let new = json!({"name": "x", "scopes": ["messages:write"]});
    create(&server, &operator, &new).await.refused(403);
    create(&server, &tenant.key, &new).await.refused(403);
    let reader = key(&server, &["messages:write", "applications:write"], None).await;
    let told = create(&server, &reader, &new).await.refused(403);
    assert_eq!(told.text("detail"), "the key lacks the scope admin");

    let soon = "2100-01-01T00:00:00Z";
    let admin = json!({"name": "deploy", "scopes": ["admin"], "expires_at": soon});
    let admin = create(&server, ADMIN, &admin).await.expect(201).text("key");
    let told = create(&server, &admin, &new).await.refused(400);
    assert_eq!((told.text("field"), told.text("value")), ("expires_at".into(), "null".into()));
    let with = |field: &str, value: Value| {
        let mut changed = new.clone();
        changed[field] = value;
        changed
    };
    create(&server, &admin, &with("expires_at", json!("2100-01-01T00:00:01Z"))).await.refused(400);
    create(&server, &admin, &with("expires_at", json!(soon))).await.expect(201);
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("two\nlines")),
        ("scopes", json!([])),
        ("scopes", json!(["everything"])),
        ("expires_at", json!("2001-01-01T00:00:00Z")),
        ("expires_at", json!("tomorrow")),
        ("application", json!("shop")),
    ] {
        let told = create(&server, ADMIN, &with(field, value)).await.refused(400);
        assert!(told.text("detail").starts_with(&format!("{field} = ")), "{told:?}");
    }
    let missing = format!("app_{}", "0".repeat(32));
    create(&server, ADMIN, &with("application", json!(missing))).await.refused(404);
    let mut both = with("application", json!(id(&tenant.path)));
    both["scopes"] = json!(["audit:read"]);
    create(&server, ADMIN, &both).await.refused(400);
    let log = server.get("/v1/audit", &admin).await.expect(200).json();
    let actor = log["items"][0]["actor"].as_str().expect("a name");
    assert!(actor.starts_with("deploy (key_"), "{actor}");
}

#[tokio::test]
async fn a_deleted_or_expired_key_went_on_at_another_node() {
    let store = FaultyStore::shared();
    let start = async || {
        let store = Arc::new(store.handle());
        Server::on(store, NodeOptions::default(), ApiOptions::default()).await
    };
    let (one, other) = (start().await, start().await);
    let tenant = one.tenant("shop").await;
    let path = format!("{}/messages", tenant.path);
    let body = r#"{"event_type": "invoice.paid", "payload": 1}"#;
    let new = json!({"name": "x", "scopes": ["messages:write"]});
    for _ in 0..5 {
        let made = create(&one, ADMIN, &new).await.expect(201);
        let key = made.text("key");
        other.call("POST", &path, &key, body).await.expect(202);
        one.call("DELETE", &format!("/v1/api-keys/{}", made.text("id")), ADMIN, "")
            .await
            .expect(204);
        other.call("POST", &path, &key, body).await.refused(401);
    }
    let at = stagger::Instant::ORIGIN + wall() + stagger::Span::from_millis(300);
    let mut short = new.clone();
    let text = stagger_text::Timestamp(at).to_string();
    // It is cut off at the millisecond.
    let stagger_text::Timestamp(at) = text.parse().expect("a time");
    short["expires_at"] = text.into();
    let key = create(&one, ADMIN, &short).await.expect(201).text("key");
    let refused = loop {
        let reply = other.call("POST", &path, &key, body).await;
        if reply.status != 202 {
            break reply.refused(401);
        }
    };
    assert_eq!(refused.text("detail"), "the key has expired");
    assert!(stagger::Instant::ORIGIN + wall() >= at);
    let listed = one.get("/v1/api-keys", ADMIN).await.json();
    assert_eq!(
        listed["items"].as_array().map(Vec::len),
        Some(1),
        "it is listed until it is deleted"
    );
}

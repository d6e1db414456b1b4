//! The limits of callers, and the walls between tenants.

use std::num::NonZeroU32;

use bytes::Bytes;
use serde_json::json;
use stagger_dispatch::api::ApiOptions;

use crate::document::operations;
use crate::server::{ADMIN, Server, id};

#[tokio::test]
async fn a_body_over_the_limit_was_read() {
    let options = ApiOptions { max_body: 2_000, max_payload: 1_000, ..ApiOptions::default() };
    let server = Server::with(options).await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/messages", tenant.path);
    let body =
        |bytes: usize| json!({"event_type": "a", "payload": "x".repeat(bytes - 2)}).to_string();
    server.call("POST", &path, &tenant.key, &body(1_000)).await.expect(202);
    let told = server.call("POST", &path, &tenant.key, &body(1_001)).await.refused(413);
    assert_eq!(told.text("field"), "payload");
    server.call("POST", &path, &tenant.key, &body(4_000)).await.refused(413);
    let raw = format!("{path}/raw?event_type=a");
    server.call("POST", &raw, &tenant.key, &"x".repeat(1_000)).await.expect(202);
    server.call("POST", &raw, &tenant.key, &"x".repeat(1_001)).await.refused(413);
}

#[tokio::test]
async fn one_application_took_all_requests() {
    let options = ApiOptions { rate: NonZeroU32::new(1), ..ApiOptions::default() };
    let server = Server::with(options).await;
    let (busy, calm) = (server.tenant("busy").await, server.tenant("calm").await);
    let batch =
        json!({"messages": vec![json!({"event_type": "a", "payload": 1}); 999]}).to_string();
    server
        .call("POST", &format!("{}/messages/batch", busy.path), &busy.key, &batch)
        .await
        .expect(202);
    server.get(&busy.path, &busy.key).await.expect(200);
    let mut refused = server.get(&busy.path, &busy.key).await;
    // A second may have passed since, and with it one more token.
    for _ in 0..10 {
        if refused.status == 429 {
            break;
        }
        refused = server.get(&busy.path, &busy.key).await;
    }
    let refused = refused.refused(429);
    assert_eq!(refused.header("retry-after"), "1");
    server.get(&calm.path, &calm.key).await.expect(200);
    server.get(&busy.path, ADMIN).await.expect(200);
}

#[tokio::test]
async fn a_message_was_accepted_while_the_node_stopped() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    server.node.shutdown(stagger::Span::ZERO).await;
    let path = format!("{}/messages", tenant.path);
    let body = r#"{"event_type": "a", "payload": 1}"#;
    let told = server.call("POST", &path, &tenant.key, body).await.refused(503);
    assert_eq!(told.header("retry-after"), "1");
}

#[tokio::test]
async fn a_form_passed_for_json() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let mut request = server.request("POST", &format!("{}/messages", tenant.path), &tenant.key);
    let form = "application/x-www-form-urlencoded".parse().unwrap();
    request.headers_mut().unwrap().insert("content-type", form);
    server.send(request, Bytes::from_static(b"{}")).await.refused(415);
}

#[tokio::test]
async fn one_tenant_read_or_changed_what_is_anothers() {
    let server = Server::start().await;
    let (owner, other) = (server.tenant("owner").await, server.tenant("other").await);
    let (ep, msg) = (server.endpoint(&owner).await, server.message(&owner).await);
    for (method, path, operation) in operations() {
        if !path.contains("{app}") {
            continue;
        }
        let fill = |app: &str| {
            path.replace("{app}", app).replace("{ep}", id(&ep)).replace("{msg}", id(&msg))
        };
        let body = if operation["requestBody"].is_null() { "" } else { "{}" };
        let admin_only = !operation["security"].is_null();
        let refusal = if admin_only { 403 } else { 404 };
        // Another's application.
        server.call(&method, &fill(id(&owner.path)), &other.key, body).await.refused(refusal);
        // Another's endpoint or message, by way of one's own application.
        if path.contains("{ep}") || path.contains("{msg}") {
            server.call(&method, &fill(id(&other.path)), &other.key, body).await.refused(404);
            server.call(&method, &fill(id(&other.path)), ADMIN, body).await.refused(404);
        }
        // Texts that are no ids.
        server.call(&method, &fill("app_1"), ADMIN, body).await.refused(404);
    }
    server.get(&ep, &owner.key).await.expect(200);
    server.get(&msg, &owner.key).await.expect(200);
}

#[tokio::test]
async fn a_revoked_key_still_opened_the_door() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let keys = format!("{}/keys", tenant.path);
    let second = server.call("POST", &keys, &tenant.key, "").await.expect(201);
    assert_eq!(second.header("cache-control"), "no-store");
    let second = second.text("key");
    server.get(&tenant.path, &second).await.expect(200);
    server.call("DELETE", &keys, &second, "").await.expect(204);
    server.get(&tenant.path, &tenant.key).await.refused(401);
    server.get(&tenant.path, &second).await.expect(200);
    for _ in 1..10 {
        server.call("POST", &keys, ADMIN, "").await.expect(201);
    }
    server.call("POST", &keys, ADMIN, "").await.refused(409);
    server.call("DELETE", &keys, ADMIN, "").await.expect(204);
    server.get(&tenant.path, &second).await.refused(401);
}

#[tokio::test]
async fn an_application_is_made_listed_changed_and_deleted() {
    let server = Server::start().await;
    let tenants = [server.tenant("a").await, server.tenant("b").await, server.tenant("c").await];
    let first = server.get("/v1/applications?limit=2", ADMIN).await.expect(200);
    let next = first.text("next");
    let rest = server.get(&format!("/v1/applications?limit=2&cursor={next}"), ADMIN).await;
    let rest = rest.expect(200).json();
    assert_eq!((&rest["items"][0]["name"], &rest["next"]), (&"c".into(), &().into()));
    server.get("/v1/applications", &tenants[0].key).await.refused(403);

    let [shop, ..] = tenants;
    let changed = server.call("PATCH", &shop.path, ADMIN, r#"{"slots": 7}"#).await.expect(200);
    assert_eq!((&changed.json()["name"], &changed.json()["slots"]), (&"a".into(), &7.into()));
    let told = server.call("PATCH", &shop.path, ADMIN, r#"{"slots": 0}"#).await.refused(400);
    assert_eq!(
        (told.text("field"), told.text("bound")),
        ("slots".into(), "from 1 to 10000".into())
    );
    server.call("PATCH", &shop.path, &shop.key, r#"{"slots": 9}"#).await.refused(403);
    assert_eq!(server.get(&shop.path, &shop.key).await.json()["slots"], 7);

    server.call("DELETE", &shop.path, ADMIN, "").await.expect(204);
    server.get(&shop.path, ADMIN).await.refused(404);
    server.get(&shop.path, &shop.key).await.refused(401);
}

//! Limits: values that are too large, and requests at the wrong time.

use std::num::NonZeroU32;

use bytes::Bytes;
use serde_json::json;
use stagger_dispatch::api::ApiOptions;

use crate::server::{ADMIN, Server};

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

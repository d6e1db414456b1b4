//! Endpoints, their settings and secrets.

use serde_json::{Value, json};
use stagger_testkit::server::{Reaction, Script, TestServer as Receiver};

use crate::server::{RECEIVER, Server, id};

#[tokio::test]
async fn an_endpoint_has_its_defaults_and_is_changed_member_by_member() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let body =
        json!({"url": RECEIVER, "headers": {"Authorization": "Bearer x", "x-a": "{message.id}"}});
    let made = server.call("POST", &path, &tenant.key, &body.to_string()).await.expect(201);
    assert!(made.text("secret").starts_with("whsec_"));
    let own = format!("{path}/{}", made.text("id"));
    let shown = server.get(&own, &tenant.key).await.expect(200).json();
    assert_eq!(shown["timeout"], "30s");
    assert_eq!(shown["disable_after"], "432000s");
    assert_eq!(shown["policy"]["limits"]["max_attempts"], 10);
    assert_eq!(shown["headers"], json!({"authorization": "********", "x-a": "{message.id}"}));
    assert_eq!(shown["status"]["state"], "active");

    let patch =
        json!({"timeout": "5s", "ordered": true, "policy": {"limits": {"max_attempts": 4}}});
    let changed =
        server.call("PATCH", &own, &tenant.key, &patch.to_string()).await.expect(200).json();
    assert_eq!((&changed["timeout"], &changed["ordered"]), (&"5s".into(), &true.into()));
    assert_eq!(changed["policy"]["limits"]["max_attempts"], 4);
    assert_eq!(changed["policy"]["backoff"], shown["policy"]["backoff"]);
    assert_eq!(changed["headers"], shown["headers"]);

    let back =
        server.call("PATCH", &own, &tenant.key, r#"{"timeout": null, "policy": null}"#).await;
    let back = back.expect(200).json();
    assert_eq!((&back["timeout"], &back["policy"]), (&shown["timeout"], &shown["policy"]));
    assert_eq!(back["ordered"], true);

    server.call("POST", &format!("{own}/disable"), &tenant.key, "").await.expect(204);
    let disabled = server.get(&own, &tenant.key).await.json();
    assert_eq!(disabled["status"]["state"], "disabled");
    assert_eq!(disabled["status"]["disabled_reason"], "by_hand");
    let test = server.call("POST", &format!("{own}/test"), &tenant.key, "").await.expect(202);
    assert!(test.text("message").starts_with("msg_"));
    server.call("POST", &format!("{own}/enable"), &tenant.key, "").await.expect(204);
    assert_ne!(server.get(&own, &tenant.key).await.json()["status"]["state"], "disabled");
    let all = server.get(&path, &tenant.key).await.expect(200).json();
    assert_eq!((all["items"].as_array().unwrap().len(), &all["next"]), (1, &Value::Null));
    server.call("DELETE", &own, &tenant.key, "").await.expect(204);
    server.get(&own, &tenant.key).await.refused(404);
}

#[tokio::test]
async fn a_setting_out_of_its_bounds_was_saved() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let own = server.endpoint(&tenant).await;
    let before = server.get(&own, &tenant.key).await.json();
    for (setting, field) in [
        (json!({"url": "ftp://example.com"}), "url"),
        (json!({"url": "https://user:pw@example.com/"}), "url"),
        (json!({"description": "x".repeat(1_001)}), "description"),
        (json!({"events": ["a b"]}), "events[0]"),
        (json!({"events": (0..101).map(|n| format!("e{n}")).collect::<Vec<_>>()}), "events"),
        (json!({"timeout": "999ms"}), "timeout"),
        (json!({"timeout": "121s"}), "timeout"),
        (json!({"timeout": 5}), "timeout"),
        (json!({"concurrency": 0}), "concurrency"),
        (json!({"concurrency": 1_001}), "concurrency"),
        (json!({"rate": -1}), "rate"),
        (json!({"recovery": {"from": 2}}), "recovery.from"),
        (json!({"recovery": {"rate": 0}}), "recovery.rate"),
        (json!({"recovery": {"over": "0s"}}), "recovery.over"),
        (json!({"permanent": [200]}), "permanent"),
        (json!({"disable_after": "59m"}), "disable_after"),
        (json!({"headers": {"webhook-id": "x"}}), "headers"),
        (json!({"headers": {"x-a": "b\r\nc: d"}}), "headers"),
        (json!({"headers": {"x-a": "********"}}), "headers"),
        (json!({"policy": {"backoff": {"base": "9s", "cap": "1s"}}}), "policy.backoff.cap"),
        (json!({"policy": {"limits": {"max_attempts": 0}}}), "policy.limits.max_attempts"),
        (json!({"secret": "whsec_!!!!"}), "secret"),
    ] {
        let mut body = setting.clone();
        body.as_object_mut().unwrap().entry("url").or_insert(RECEIVER.into());
        let told = server.call("POST", &path, &tenant.key, &body.to_string()).await.refused(400);
        assert_eq!(told.text("field"), field, "{setting}");
        let told = server.call("PATCH", &own, &tenant.key, &setting.to_string()).await.refused(400);
        assert_eq!(told.text("field"), field, "{setting}");
    }
    for (body, told) in [
        (r#"{"tiemout": null}"#, "did you mean `timeout`?"),
        (r#"{"url": null}"#, "url: invalid type: null"),
        ("[]", "invalid type"),
        ("{", "no JSON"),
    ] {
        let detail =
            server.call("PATCH", &own, &tenant.key, body).await.refused(400).text("detail");
        assert!(detail.contains(told), "{detail}");
    }
    assert_eq!(server.get(&own, &tenant.key).await.json()["updated_at"], before["updated_at"]);
    let all = server.get(&path, &tenant.key).await.json();
    assert_eq!(all["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_rotated_secret_left_a_gap() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let own = server.endpoint(&tenant).await;
    let path = format!("{own}/secrets");
    let first = server.get(&path, &tenant.key).await.expect(200);
    assert_eq!(first.header("cache-control"), "no-store");
    let first = first.json()["secrets"][0]["secret"].clone();
    let given = "whsec_AQIDBAUGBwgJEBESExQVFg==";
    let body = json!({"secret": given, "overlap": "1h"}).to_string();
    let new = server.call("POST", &path, &tenant.key, &body).await.expect(201);
    assert_eq!((new.text("secret"), &new.json()["until"]), (given.to_owned(), &Value::Null));
    let both = server.get(&path, &tenant.key).await.json();
    assert_eq!(
        (&both["secrets"][0]["secret"], &both["secrets"][1]["secret"]),
        (&given.into(), &first)
    );
    assert!(both["secrets"][1]["until"].is_string());
    server.call("POST", &path, &tenant.key, r#"{"overlap": "0s"}"#).await.expect(201);
    assert_eq!(server.get(&path, &tenant.key).await.json()["secrets"].as_array().unwrap().len(), 1);
    let told = server.call("POST", &path, &tenant.key, r#"{"overlap": "31d"}"#).await.refused(400);
    assert_eq!(told.text("field"), "overlap");
    for _ in 1..10 {
        server.call("POST", &path, &tenant.key, "").await.expect(201);
    }
    server.call("POST", &path, &tenant.key, "").await.refused(409);
}

/// Policies as callers write them: nothing, and the examples of the document.
fn partial_policies() -> Vec<Value> {
    let document: Value = serde_json::from_str(include_str!("../../openapi.json")).expect("JSON");
    let examples = document["components"]["schemas"]["Policy"]["examples"].as_array();
    let examples = examples.expect("the document has examples").iter().cloned();
    std::iter::once(json!({})).chain(examples).collect()
}

#[tokio::test]
async fn a_policy_was_another_when_it_was_posted_than_when_it_was_patched() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    for policy in partial_policies() {
        let body = json!({"url": RECEIVER, "policy": policy}).to_string();
        let posted = server.call("POST", &path, &tenant.key, &body).await.expect(201).json();
        let own = server.endpoint(&tenant).await;
        let body = json!({ "policy": policy }).to_string();
        let patched = server.call("PATCH", &own, &tenant.key, &body).await.expect(200).json();
        assert_eq!(posted["policy"], patched["policy"], "{policy}");
        assert_eq!(posted["policy"]["hints"]["long"], "shorten", "{policy}");
    }
}

#[tokio::test]
async fn a_long_retry_after_ended_deliveries_of_endpoints_with_their_own_policy() {
    let server = Server::start().await;
    let busy = Reaction::status(503).header("retry-after", "3600");
    let receiver = Receiver::start(Script::always(busy)).await;
    for policy in partial_policies() {
        let tenant = server.tenant("shop").await;
        let path = format!("{}/endpoints", tenant.path);
        let body = json!({"url": receiver.url("/"), "policy": policy}).to_string();
        let made = server.call("POST", &path, &tenant.key, &body).await.expect(201);
        let message = server.message(&tenant).await;
        let delivery =
            format!("{}/messages/{}/deliveries/{}", tenant.path, id(&message), made.text("id"));
        let settled = loop {
            let shown = server.get(&delivery, &tenant.key).await.expect(200).json();
            if shown["attempts"] != 0 {
                break shown;
            }
        };
        assert_eq!((&settled["state"], &settled["attempts"]), (&"waiting".into(), &1.into()));
    }
}

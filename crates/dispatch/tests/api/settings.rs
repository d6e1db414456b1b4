//! Endpoints, their settings and secrets.

use serde_json::{Value, json};
use stagger_testkit::server::{Reaction, Script, TestServer as Receiver};

use crate::server::{ADMIN, RECEIVER, Server, id};

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
    assert_eq!(shown["disable_after"], "5d");
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

#[tokio::test]
async fn headers_are_patched_whatever_the_case_of_their_names() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let body = json!({"url": RECEIVER, "headers": {"X-Api-Key": "k", "x-b": "b"}}).to_string();
    let own = format!("{path}/{}", server.call("POST", &path, &tenant.key, &body).await.text("id"));
    let patch = r#"{"headers": {"X-Api-Key": null, "X-B": "c"}}"#;
    let changed = server.call("PATCH", &own, &tenant.key, patch).await.expect(200).json();
    assert_eq!(changed["headers"], json!({"x-b": "c"}));
    let twice = r#"{"headers": {"X-B": "c", "x-b": null}}"#;
    server.call("PATCH", &own, &tenant.key, twice).await.refused(400);
}

#[tokio::test]
async fn a_secret_header_was_uncovered_by_a_patch() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let marked = json!({"value": "hunter2", "sensitive": true});
    let body = json!({"url": RECEIVER, "headers": {"x-api-key": marked}}).to_string();
    let own = format!("{path}/{}", server.call("POST", &path, &tenant.key, &body).await.text("id"));
    let patch = async |patch: &str| server.call("PATCH", &own, &tenant.key, patch).await;
    for uncovers in [
        r#"{"headers": {"x-api-key": {"sensitive": false}}}"#,
        r#"{"headers": {"X-API-Key": {"sensitive": null}}}"#,
    ] {
        let refused = patch(uncovers).await.refused(400);
        assert!(!refused.json().to_string().contains("hunter2"));
    }
    let kept = patch(r#"{"headers": {"x-api-key": "hunter3"}}"#).await.expect(200).json();
    assert_eq!(kept["headers"]["x-api-key"], "********", "a new value stays secret");
    let open = r#"{"headers": {"x-api-key": {"value": "plain", "sensitive": false}}}"#;
    assert_eq!(patch(open).await.expect(200).json()["headers"]["x-api-key"], "plain");
}

#[tokio::test]
async fn a_secret_header_went_with_the_endpoint_to_another_origin() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let body = json!({"url": RECEIVER, "headers": {"authorization": "Bearer x", "x-a": "a"}});
    let made = server.call("POST", &path, &tenant.key, &body.to_string()).await.expect(201);
    let own = format!("{path}/{}", made.text("id"));
    let patch = async |patch: &str| server.call("PATCH", &own, &tenant.key, patch).await;
    let within = format!("{RECEIVER}other");
    patch(&json!({ "url": within }).to_string()).await.expect(200);
    let refused = patch(r#"{"url": "http://127.0.0.2:1/"}"#).await.refused(400);
    assert!(refused.text("detail").contains("authorization"), "{refused:?}");
    let given = r#"{"url": "http://127.0.0.2:1/", "headers": {"Authorization": "Bearer y"}}"#;
    let moved = patch(given).await.expect(200).json();
    assert_eq!(moved["headers"], json!({"authorization": "********", "x-a": "a"}));
    let removed = r#"{"url": "http://127.0.0.3:1/", "headers": {"authorization": null}}"#;
    assert_eq!(patch(removed).await.expect(200).json()["headers"], json!({"x-a": "a"}));
}

#[tokio::test]
async fn an_address_is_stored_in_one_spelling_and_a_signing_key_has_its_public_half() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let secret = "whsk_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let body = json!({"url": "HTTP://127.0.0.1:1/a/../b", "secret": secret}).to_string();
    let made = server.call("POST", &path, &tenant.key, &body).await.expect(201).json();
    assert_eq!(made["url"], "http://127.0.0.1:1/b");
    assert!(made["public_key"].as_str().is_some_and(|key| key.starts_with("whpk_")), "{made}");
}

#[tokio::test]
async fn an_application_set_a_breaker_that_never_opens() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let body =
        |breaker: Value| json!({"url": RECEIVER, "policy": {"breaker": breaker}}).to_string();
    for (breaker, field) in [
        (json!({"consecutive": 101}), "policy.breaker.consecutive"),
        (json!({"minimum_calls": 1_000}), "policy.breaker.minimum_calls"),
        (json!({"open_time": "999ms"}), "policy.breaker.open_time"),
    ] {
        let told =
            server.call("POST", &path, &tenant.key, &body(breaker.clone())).await.refused(400);
        assert_eq!(told.text("field"), field);
        let made = server.call("POST", &path, ADMIN, &body(breaker)).await.expect(201);
        let own = format!("{path}/{}", made.text("id"));
        // The setting of the admin stays when the application changes another.
        server.call("PATCH", &own, &tenant.key, r#"{"description": "mine"}"#).await.expect(200);
    }
    let good = body(json!({"consecutive": 100, "minimum_calls": 100, "open_time": "1s"}));
    server.call("POST", &path, &tenant.key, &good).await.expect(201);
}

#[tokio::test]
async fn spans_come_back_as_people_write_them() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let body = json!({"url": RECEIVER, "timeout": "90s", "disable_after": "5d",
        "policy": {"limits": {"deadline": "3d"}}});
    let made = server.call("POST", &path, &tenant.key, &body.to_string()).await.expect(201).json();
    assert_eq!((&made["timeout"], &made["disable_after"]), (&"90s".into(), &"5d".into()));
    assert_eq!(made["policy"]["limits"]["deadline"], "3d");
}

//! Retries, missed messages, and lists of deliveries in one state.

use serde_json::json;
use stagger_testkit::server::{Reaction, Script, TestServer as Receiver};

use crate::server::{ADMIN, Server, Tenant, id};

async fn failing(server: &Server, tenant: &Tenant, receiver: &Receiver) -> (String, Vec<String>) {
    let path = format!("{}/endpoints", tenant.path);
    let policy = json!({"backoff": {"base": "1h", "cap": "1h", "jitter": "none"}});
    let body = json!({ "url": receiver.url("/"), "policy": policy }).to_string();
    let made = server.call("POST", &path, &tenant.key, &body).await.expect(201);
    let endpoint = format!("{path}/{}", made.text("id"));
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(server.message(tenant).await);
    }
    let list = format!("{}/deliveries?state=waiting", tenant.path);
    loop {
        let waiting = server.get(&list, &tenant.key).await.expect(200).json();
        if waiting["items"].as_array().is_some_and(|items| items.len() == 3) {
            return (endpoint, sent);
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn waiting_deliveries_are_retried_one_by_one_and_together() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let failures = [503, 503, 418].map(Reaction::status);
    let receiver = Receiver::start(Script::of(failures)).await;
    let (endpoint, sent) = failing(&server, &tenant, &receiver).await;
    let shown = server.get(&endpoint, &tenant.key).await.json();
    assert_eq!(shown["status"]["state"], "failing");
    assert!(shown["status"]["last_failure"]["status"].is_number(), "{shown}");
    let teapots = format!("{}/deliveries?status=418&event_type=invoice.paid", tenant.path);
    let found = server.get(&teapots, &tenant.key).await.expect(200).json();
    assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
    for wrong in ["status=9", "status=x", "event_type=a..b"] {
        let path = format!("{}/deliveries?{wrong}", tenant.path);
        server.get(&path, &tenant.key).await.refused(400);
    }

    let one = format!("{}/deliveries/{}", sent[0], id(&endpoint));
    let retried = server.call("POST", &format!("{one}/retry"), &tenant.key, "").await.expect(202);
    assert_eq!(retried.text("state"), "waiting");
    while server.get(&one, &tenant.key).await.text("state") != "delivered" {
        tokio::task::yield_now().await;
    }
    server.call("POST", &format!("{one}/retry"), &tenant.key, "").await.refused(409);

    let retry = format!("{endpoint}/retry");
    let none = json!({"status": 500}).to_string();
    let none = server.call("POST", &retry, &tenant.key, &none).await.expect(202);
    assert_eq!(none.json()["retried"], 0);
    let rest = server.call("POST", &retry, &tenant.key, "").await.expect(202);
    assert_eq!(rest.json()["retried"], 2);
    let wrong = json!({"endpoint": "ep_00000000000000000000000000000001"}).to_string();
    server.call("POST", &retry, &tenant.key, &wrong).await.refused(400);
    let all = format!("{}/retry", tenant.path);
    server.call("POST", &all, &tenant.key, "").await.expect(202);
    server.call("POST", &all, &tenant.key, r#"{"state": "dead"}"#).await.refused(400);
    let other = server.tenant("other").await;
    server.call("POST", &retry, &other.key, "").await.refused(404);
    server.call("POST", &format!("{endpoint}/disable"), &tenant.key, "").await.expect(204);
    server.call("POST", &retry, &tenant.key, "").await.refused(409);
}

#[tokio::test]
async fn an_endpoint_is_sent_what_it_has_missed() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let receiver = Receiver::start(Script::of([])).await;
    server.message(&tenant).await;
    let path = format!("{}/endpoints", tenant.path);
    let body = json!({ "url": receiver.url("/") }).to_string();
    let made = server.call("POST", &path, &tenant.key, &body).await.expect(201);
    let missing = format!("{path}/{}/replay-missing", made.text("id"));
    server.call("POST", &missing, &tenant.key, "{}").await.refused(400);
    let since = json!({"since": "2026-01-01T00:00:00Z", "event_type": "other"}).to_string();
    let none = server.call("POST", &missing, &tenant.key, &since).await.expect(202);
    assert_eq!(none.json()["replayed"], 0);
    let since = json!({"since": "2026-01-01T00:00:00Z"}).to_string();
    let sent = server.call("POST", &missing, &tenant.key, &since).await.expect(202);
    assert_eq!(sent.json()["replayed"], 1);
    receiver.until_taken(1).await;
}

#[tokio::test]
async fn changes_by_calls_are_in_the_audit_log_of_the_admin() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let endpoint = server.endpoint(&tenant).await;
    server.message(&tenant).await;
    server
        .call("PATCH", &endpoint, &tenant.key, r#"{"timeout": "5s", "rate": 7}"#)
        .await
        .expect(200);
    server.call("PATCH", &endpoint, &tenant.key, r#"{"timeout": "5m"}"#).await.refused(400);
    server.call("DELETE", &endpoint, ADMIN, "").await.expect(204);
    let log = server.get("/v1/audit", ADMIN).await.expect(200).json();
    let entries: Vec<_> = log["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            (text("actor"), text("action"), text("detail"))
        })
        .collect();
    let key = format!("key of {}", id(&tenant.path));
    assert_eq!(
        entries,
        [
            ("admin".into(), format!("DELETE {endpoint}"), String::new()),
            (key.clone(), format!("PATCH {endpoint}"), "rate, timeout".into()),
            (key, format!("POST {}/endpoints", tenant.path), String::new()),
            ("admin".into(), "POST /v1/applications".into(), String::new()),
        ]
    );
    let first = log["items"][0]["number"].as_u64().unwrap();
    let older = server.get(&format!("/v1/audit?before={first}&limit=1"), ADMIN).await.json();
    assert_eq!(older["items"].as_array().unwrap().len(), 1);
    server.get("/v1/audit", &tenant.key).await.refused(403);
}

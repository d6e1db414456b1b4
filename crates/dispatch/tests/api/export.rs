//! The export, the deletion of payloads, the retention of an application, and the list of nodes.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::server::{ADMIN, Server, Tenant, id};

/// The lines of an export, and whether the last one says that it is complete.
async fn lines(server: &Server, tenant: &Tenant, query: &str) -> Vec<Value> {
    let path = format!("{}/export{query}", tenant.path);
    let reply = server.get(&path, &tenant.key).await.expect(200);
    assert_eq!(reply.header("content-type"), "application/x-ndjson");
    let text = String::from_utf8(reply.body.to_vec()).expect("UTF-8");
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn of<'l>(lines: &'l [Value], kind: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

#[tokio::test]
async fn an_export_has_messages_deliveries_attempts_and_no_secret() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let endpoint = server.endpoint(&tenant).await;
    let first = server.message(&tenant).await;
    let raw = format!("{}/messages/raw?event_type=raw.bytes", tenant.path);
    let raw = server.request("POST", &raw, &tenant.key);
    server.send(raw, Bytes::from_static(b"\xff\x00")).await.expect(202);
    let other = server.tenant("other").await;
    server.message(&other).await;
    let lines = lines(&server, &tenant, "").await;
    let messages = of(&lines, "message");
    assert_eq!(messages.len(), 2);
    assert_eq!(
        (&messages[0]["payload"], &messages[0]["payload_encoding"]),
        (&"/wA=".into(), &"base64".into())
    );
    assert_eq!(messages[1]["message"]["id"], id(&first));
    assert_eq!(
        (&messages[1]["payload"], &messages[1]["payload_encoding"]),
        (&r#"{"id": 1}"#.into(), &"utf8".into())
    );
    let deliveries = of(&lines, "delivery");
    assert_eq!(deliveries.len(), 2);
    assert_eq!(deliveries[0]["delivery"]["endpoint"], id(&endpoint));
    assert!(deliveries[0]["attempts"].is_array());
    assert_eq!(lines.last(), Some(&json!({"type": "end"})));
    let secrets = server.get(&format!("{endpoint}/secrets"), ADMIN).await.expect(200);
    let secret = secrets.json()["secrets"][0]["secret"].as_str().expect("one").to_owned();
    assert!(!lines.iter().any(|line| line.to_string().contains(&secret)));
}

#[tokio::test]
async fn an_interrupted_export_goes_on_with_its_cursor_while_messages_come_and_go() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let mut sent = Vec::new();
    for _ in 0..260 {
        sent.push(id(&server.message(&tenant).await).to_owned());
    }
    let mut seen = Vec::new();
    let mut query = "?limit=70".to_owned();
    let mut rounds = 0;
    loop {
        let lines = lines(&server, &tenant, &query).await;
        seen.extend(of(&lines, "message").iter().map(|line| line["message"]["id"].to_string()));
        let Some(last) = lines.last().filter(|last| last["type"] == "checkpoint") else { break };
        query = format!("?limit=70&cursor={}", last["cursor"].as_str().expect("a cursor"));
        // A newer one comes, and one that was exported goes.
        server.message(&tenant).await;
        let gone = format!("{}/messages/{}", tenant.path, sent[259 - rounds]);
        server.call("DELETE", &gone, &tenant.key, "").await.expect(204);
        rounds += 1;
    }
    let once: BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), once.len(), rounds), (260, 260, 3));
    let since = server.get(&format!("{}/messages/{}", tenant.path, sent[5]), ADMIN).await;
    let since = since.expect(200).text("created_at");
    let before = lines(&server, &tenant, &format!("?until={since}")).await;
    let after = lines(&server, &tenant, &format!("?since={since}")).await;
    assert!(of(&before, "message").len() <= 5, "only older ones");
    assert_eq!(of(&before, "message").len() + of(&after, "message").len(), 260 - 3 + 3);
    for wrong in ["?limit=0", "?cursor=x", "?since=yesterday", "?sinse=1"] {
        server.get(&format!("{}/export{wrong}", tenant.path), &tenant.key).await.refused(400);
    }
}

#[tokio::test]
async fn a_deleted_payload_is_gone_and_its_message_stays() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    server.endpoint(&tenant).await;
    let message = server.message(&tenant).await;
    let payload = format!("{message}/payload");
    server.get(&payload, &tenant.key).await.expect(200);
    for _ in 0..2 {
        server.call("DELETE", &payload, &tenant.key, "").await.expect(204);
    }
    server.get(&payload, &tenant.key).await.refused(404);
    server.get(&message, &tenant.key).await.expect(200);
    let deliveries = server.get(&format!("{message}/deliveries"), &tenant.key).await.json();
    assert_eq!(deliveries["items"][0]["state"], "cancelled");
    let lines = lines(&server, &tenant, "").await;
    assert_eq!(of(&lines, "message")[0]["payload"], Value::Null);
    let audit = server.get("/v1/audit", ADMIN).await.expect(200).json();
    assert_eq!(audit["items"][0]["action"], format!("DELETE {payload}"));
}

#[tokio::test]
async fn the_retention_of_an_application_is_within_that_of_the_node() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    assert_eq!(server.get(&tenant.path, &tenant.key).await.json()["retention"], Value::Null);
    let set = async |text: &str| {
        let patch = json!({ "retention": text }).to_string();
        server.call("PATCH", &tenant.path, ADMIN, &patch).await
    };
    for (given, shown) in [("168h", "7d"), ("30d", "30d"), ("60s", "1m")] {
        assert_eq!(set(given).await.expect(200).text("retention"), shown);
    }
    for wrong in ["31d", "59s", "a week", ""] {
        let told = set(wrong).await.refused(400).json();
        assert_eq!(
            (&told["field"], &told["bound"]),
            (&"retention".into(), &"a span from 60s to 30d".into())
        );
    }
    assert_eq!(server.get(&tenant.path, &tenant.key).await.text("retention"), "1m");
    server.call("PATCH", &tenant.path, &tenant.key, r#"{"retention":"7d"}"#).await.refused(403);
    let none = server.call("PATCH", &tenant.path, ADMIN, r#"{"retention":null}"#).await.expect(200);
    assert_eq!(none.json()["retention"], Value::Null);
}

#[tokio::test]
async fn a_node_alone_lists_itself() {
    let server = Server::start().await;
    let nodes = server.get("/v1/nodes", ADMIN).await.expect(200).json();
    let nodes = nodes["items"].as_array().expect("a list").clone();
    assert_eq!(nodes.len(), 1);
    let node = &nodes[0];
    assert_eq!(
        (&node["version"], &node["shards"]),
        (&env!("CARGO_PKG_VERSION").into(), &256.into())
    );
    assert_eq!((&node["draining"], &node["is_this"]), (&false.into(), &true.into()));
    assert!(node["started_at"].as_str() <= node["last_seen_at"].as_str());
    let tenant = server.tenant("shop").await;
    server.get("/v1/nodes", &tenant.key).await.refused(403);
    server.node.shutdown(stagger::Span::ZERO).await;
    let nodes = server.get("/v1/nodes", ADMIN).await.expect(200).json();
    assert_eq!(nodes["items"][0]["draining"], true);
}

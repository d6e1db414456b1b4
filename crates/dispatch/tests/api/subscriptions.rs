//! Subscriptions: patterns of event types, channels, and filters on payloads.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::server::{RECEIVER, Server, Tenant, id};

async fn endpoint(server: &Server, tenant: &Tenant, mut settings: Value) -> String {
    settings["url"] = RECEIVER.into();
    let path = format!("{}/endpoints", tenant.path);
    let made = server.call("POST", &path, &tenant.key, &settings.to_string()).await.expect(201);
    format!("{path}/{}", made.text("id"))
}

/// Sends a message, and returns the ids of the endpoints that have a delivery of it.
async fn receivers(server: &Server, tenant: &Tenant, message: &Value) -> BTreeSet<String> {
    let path = format!("{}/messages", tenant.path);
    let sent = server.call("POST", &path, &tenant.key, &message.to_string()).await.expect(202);
    deliveries(server, tenant, &sent.text("id")).await
}

async fn deliveries(server: &Server, tenant: &Tenant, message: &str) -> BTreeSet<String> {
    let path = format!("{}/messages/{message}/deliveries", tenant.path);
    let found = server.get(&path, &tenant.key).await.expect(200).json();
    let items = found["items"].as_array().expect("a list");
    items.iter().map(|it| it["endpoint"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn an_endpoint_got_a_message_that_it_does_not_subscribe_to() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let make = async |settings| endpoint(&server, &tenant, settings).await;
    let orders = make(json!({"events": ["order.*"]})).await;
    let large = make(json!({"filter": {"path": "/amount", "ge": 100}})).await;
    let project = make(json!({"events": ["*"], "channels": ["project:17"]})).await;
    for (message, expected) in [
        (json!({"event_type": "order.paid", "payload": {"amount": 1}}), vec![&orders]),
        (json!({"event_type": "order.paid", "payload": {"amount": 100}}), vec![&orders, &large]),
        (
            json!({"event_type": "order", "payload": 1, "channels": ["x", "project:17"]}),
            vec![&project],
        ),
        (
            json!({"event_type": "order", "payload": {"amount": 1e3}, "channels": ["x"]}),
            vec![&large],
        ),
        (json!({"event_type": "order", "payload": {"amount": "100"}}), vec![]),
    ] {
        let expected: BTreeSet<_> = expected.into_iter().map(|path| id(path).to_owned()).collect();
        assert_eq!(receivers(&server, &tenant, &message).await, expected, "{message}");
    }
    let raw = format!("{}/messages/raw?event_type=order.sent&channels=project:17,b", tenant.path);
    let sent = server.call("POST", &raw, &tenant.key, "no JSON").await.expect(202).text("id");
    let both = [&orders, &project].map(|path| id(path).to_owned()).into();
    assert_eq!(deliveries(&server, &tenant, &sent).await, both);
    let shown = server.get(&format!("{}/messages/{sent}", tenant.path), &tenant.key).await.json();
    assert_eq!(shown["channels"], json!(["b", "project:17"]));
}

#[tokio::test]
async fn a_patch_merged_a_filter_into_another() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let first = json!({"all": [{"path": "/a", "eq": 1}]});
    let own =
        endpoint(&server, &tenant, json!({"filter": first, "channels": ["b", "a", "b"]})).await;
    let patch = async |patch: Value| {
        server.call("PATCH", &own, &tenant.key, &patch.to_string()).await.expect(200).json()
    };
    let kept = patch(json!({"description": "x"})).await;
    assert_eq!((&kept["filter"], &kept["channels"]), (&first, &json!(["a", "b"])));
    let second = json!({"any": [{"path": "/a", "eq": null}]});
    assert_eq!(patch(json!({"filter": second})).await["filter"], second);
    assert_eq!(patch(json!({"filter": null, "channels": null})).await["filter"], Value::Null);
    for (wrong, field) in [
        (json!({"filter": {"path": "/a", "is": 1}}), "filter"),
        (json!({"filter": []}), "filter"),
        (json!({"channels": ["a b"]}), "channels[0]"),
        (json!({"channels": (0..11).map(|n| format!("c{n}")).collect::<Vec<_>>()}), "channels"),
        (json!({"events": ["order*"]}), "events[0]"),
    ] {
        let told = server.call("PATCH", &own, &tenant.key, &wrong.to_string()).await.refused(400);
        assert_eq!(told.text("field"), field, "{wrong}");
    }
}

#[tokio::test]
async fn a_filter_can_be_tried_before_it_is_saved() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let settings = json!({"events": ["order.*"], "filter": {"path": "/amount", "ge": 100}});
    let own = endpoint(&server, &tenant, settings).await;
    let path = format!("{own}/filter-test");
    let test = async |body: Value| {
        server.call("POST", &path, &tenant.key, &body.to_string()).await.expect(200).json()
    };
    let message = json!({"event_type": "order.paid", "payload": {"amount": 7}});
    assert_eq!(
        test(message.clone()).await,
        json!({"receives": false, "event_type": true, "channels": true, "filter": false,
            "fields": [{"path": "/amount", "found": "number", "passed": false}]})
    );
    let mut tried = message;
    tried["filter"] = json!({"path": "/amount", "lt": 100});
    assert_eq!(test(tried.clone()).await["receives"], true);
    tried["event_type"] = "invoice.paid".into();
    let told = test(tried.clone()).await;
    assert_eq!((&told["receives"], &told["filter"]), (&false.into(), &true.into()));
    tried["filter"] = json!({"path": "amount", "lt": 100});
    server.call("POST", &path, &tenant.key, &tried.to_string()).await.refused(400);
    let listed = server.get(&format!("{}/messages", tenant.path), &tenant.key).await.json();
    assert_eq!(listed["items"], json!([]), "a test sent something");
}

#[tokio::test]
async fn a_replay_of_missed_messages_ignored_the_filter() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    for (amount, channel) in [(1, "a"), (100, "a"), (200, "b")] {
        let message = json!({
            "event_type": "order.paid", "payload": {"amount": amount}, "channels": [channel]
        });
        assert!(receivers(&server, &tenant, &message).await.is_empty());
    }
    let settings = json!({"channels": ["a"], "filter": {"path": "/amount", "ge": 100}});
    let own = endpoint(&server, &tenant, settings).await;
    let body = r#"{"since": "2020-01-01T00:00:00Z"}"#;
    let replayed = server.call("POST", &format!("{own}/replay-missing"), &tenant.key, body).await;
    assert_eq!(replayed.expect(202).json()["replayed"], 1);
}

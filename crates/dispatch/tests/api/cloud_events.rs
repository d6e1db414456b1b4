//! CloudEvents on their way in, and out again as they came.

use bytes::Bytes;
use serde_json::{Value, json};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::server::{Reply, Server, Tenant};

async fn post(
    server: &Server,
    tenant: &Tenant,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let path = format!("{}/messages{path}", tenant.path);
    let mut request = server.request("POST", &path, &tenant.key);
    let map = request.headers_mut().expect("it is right so far");
    map.remove("content-type");
    for (name, value) in headers {
        let name = http::HeaderName::try_from(*name).expect("a name");
        map.append(name, value.parse().expect("a value"));
    }
    server.send(request, Bytes::copy_from_slice(body.as_bytes())).await
}

const STRUCTURED: (&str, &str) = ("content-type", "application/cloudevents+json; charset=utf-8");
const BATCH: (&str, &str) = ("content-type", "application/cloudevents-batch+json");

fn event(id: &str) -> Value {
    json!({
        "specversion": "1.0", "id": id, "source": "/shop", "type": "order.taken",
        "subject": "orders/7", "time": "2026-01-31T12:00:00Z", "rank": 7, "data": {"amount": 10.0},
    })
}

#[tokio::test]
async fn an_event_in_each_mode_is_one_message_of_its_source_and_id() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let text = event("A-1").to_string();
    let first = post(&server, &tenant, "", &[STRUCTURED], &text).await.expect(202).json();
    assert_eq!(first["repeated"], false);
    let again = post(&server, &tenant, "", &[STRUCTURED], &text).await.expect(202).json();
    assert_eq!((&again["id"], &again["repeated"]), (&first["id"], &true.into()));
    let path = format!("{}/messages/{}", tenant.path, first["id"].as_str().unwrap());
    let shown = server.get(&path, &tenant.key).await.expect(200).json();
    assert_eq!(shown["event_type"], "order.taken");
    let attributes = json!({
        "id": "A-1", "source": "/shop", "subject": "orders/7", "time": "2026-01-31T12:00:00Z", "rank": "7",
    });
    assert_eq!(shown["attributes"], attributes);
    let payload = server.get(&format!("{path}/payload"), &tenant.key).await.expect(200);
    assert_eq!(payload.body, r#"{"amount":10.0}"#);
    assert_eq!(payload.header("content-type"), "application/json");
    // The same source and id with other contents is another event under a name that is taken.
    let binary = [
        ("ce-specversion", "1.0"),
        ("ce-id", "A-1"),
        ("ce-source", "/shop"),
        ("ce-type", "order.taken"),
        ("content-type", "text/plain"),
    ];
    post(&server, &tenant, "", &binary, "a text").await.refused(422);
    let mut other = binary;
    other[1].1 = "A%202";
    let reply = post(&server, &tenant, "", &other, "a text").await.expect(202);
    let path = format!("{}/messages/{}", tenant.path, reply.text("id"));
    let shown = server.get(&path, &tenant.key).await.expect(200).json();
    assert_eq!(shown["attributes"], json!({"id": "A 2", "source": "/shop"}));
    assert_eq!(shown["content_type"], "text/plain");
}

#[tokio::test]
async fn a_batch_of_events_is_accepted_whole_or_not() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let batch = json!([event("1"), event("2"), event("1")]).to_string();
    let reply = post(&server, &tenant, "/batch", &[BATCH], &batch).await.expect(202).json();
    let ids: Vec<_> = (0..3).map(|at| &reply["messages"][at]["id"]).collect();
    assert!(ids[0] == ids[2] && ids[0] != ids[1], "{reply}");
    let mut wrong = event("3");
    wrong["time"] = "noon".into();
    let batch = json!([event("4"), wrong]).to_string();
    let refused = post(&server, &tenant, "/batch", &[BATCH], &batch).await.refused(400).json();
    assert_eq!(
        (&refused["field"], &refused["value"]),
        (&"messages[1].time".into(), &"noon".into())
    );
    let list = server.get(&format!("{}/messages", tenant.path), &tenant.key).await.expect(200);
    assert_eq!(list.json()["items"].as_array().unwrap().len(), 2, "nothing of it");
    post(&server, &tenant, "/batch", &[BATCH], "[]").await.refused(400);
    post(&server, &tenant, "", &[BATCH], &batch).await.refused(415);
}

#[tokio::test]
async fn an_event_with_wrong_attributes_is_refused_by_name_value_and_bound() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    for (name, value, field) in [
        ("id", Value::Null, "id"),
        ("source", "".into(), "source"),
        ("type", "a b".into(), "type"),
        ("type", "stagger.test".into(), "type"),
        ("specversion", "0.3".into(), "specversion"),
        ("dataschema", "relative".into(), "dataschema"),
        ("my_ext", "a".into(), "attributes"),
    ] {
        let mut event = event("1");
        event[name] = value;
        let reply = post(&server, &tenant, "", &[STRUCTURED], &event.to_string()).await;
        let refused = reply.refused(400).json();
        assert_eq!(refused["field"], field, "{refused}");
        assert!(refused["bound"].is_string() && refused["value"].is_string(), "{refused}");
    }
    let binary = [("ce-specversion", "1.0"), ("ce-id", "%FF"), ("ce-source", "/")];
    let refused = post(&server, &tenant, "", &binary, "").await.refused(400).json();
    assert_eq!((&refused["field"], &refused["value"]), (&"ce-id".into(), &"%FF".into()));
    let both = [STRUCTURED, ("idempotency-key", "mine")];
    let text = event("1").to_string();
    let refused = post(&server, &tenant, "", &both, &text).await.refused(400).json();
    assert_eq!(refused["field"], "Idempotency-Key");
}

#[tokio::test]
async fn an_event_goes_out_as_it_came_and_a_message_with_the_source_of_its_application() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let source = r#"{"source": "https://shop.example/orders"}"#;
    server.call("PATCH", &tenant.path, crate::server::ADMIN, source).await.expect(200);
    let receiver = TestServer::start(Script::always(Reaction::status(204))).await;
    let path = format!("{}/endpoints", tenant.path);
    let settings = json!({
        "url": receiver.url("/"), "format": "cloudevents-structured", "signatures": "both", "ordered": true,
    });
    let made =
        server.call("POST", &path, &tenant.key, &settings.to_string()).await.expect(201).json();
    assert_eq!(
        (&made["format"], &made["signatures"]),
        (&settings["format"], &settings["signatures"])
    );
    post(&server, &tenant, "", &[STRUCTURED], &event("A-1").to_string()).await.expect(202);
    let body = json!({
        "event_type": "order.void", "payload": [1], "attributes": {"subject": "orders/8", "myext": "a"},
    });
    let json = ("content-type", "application/json");
    let sent = post(&server, &tenant, "", &[json], &body.to_string()).await.expect(202);
    receiver.until_taken(2).await;
    let got: Vec<Value> =
        receiver.seen().iter().map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect();
    let mut expected = event("A-1");
    expected["datacontenttype"] = "application/json".into();
    assert_eq!(got[0], expected);
    assert_eq!(got[1]["id"], sent.text("id"));
    assert_eq!(got[1]["source"], "https://shop.example/orders");
    assert_eq!((&got[1]["subject"], &got[1]["myext"]), (&"orders/8".into(), &"a".into()));
    assert_eq!((&got[1]["type"], &got[1]["data"]), (&"order.void".into(), &json!([1])));
    let seen = receiver.seen();
    assert_eq!(seen[0].headers["webhook-id"].len(), 36);
    for name in ["webhook-signature", "signature", "signature-input", "content-digest"] {
        assert!(seen[0].headers.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn settings_of_formats_signatures_and_handshakes_have_bounds() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    for (name, value) in [
        ("format", json!("xml")),
        ("signatures", json!("none")),
        // This node has no public address to ask with.
        ("handshake", json!(true)),
    ] {
        let mut settings = json!({"url": crate::server::RECEIVER});
        settings[name] = value;
        let reply = server.call("POST", &path, &tenant.key, &settings.to_string()).await;
        assert_eq!(reply.refused(400).json()["field"], name);
    }
    for source in ["", "a b", "\u{e9}"] {
        let body = json!({"source": source}).to_string();
        let reply = server.call("PATCH", &tenant.path, crate::server::ADMIN, &body).await;
        assert_eq!(reply.refused(400).json()["field"], "source");
    }
}

//! Messages on their way in, and their deliveries.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::server::{Server, Tenant, id};

async fn send(server: &Server, tenant: &Tenant, key: &str, body: &str) -> Value {
    let path = format!("{}/messages", tenant.path);
    let request = server.request("POST", &path, &tenant.key).header("idempotency-key", key);
    server.send(request, Bytes::copy_from_slice(body.as_bytes())).await.expect(202).json()
}

/// gabrielkoerich/orch #134, workos/workos-node #1578: parsed and written again, a blank was gone and
/// a letter written otherwise.
#[tokio::test]
async fn a_payload_was_written_again_in_other_words() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/messages", tenant.path);
    let payload =
        r#"{"amount": 10.0,"id":"\u00e9vt_1",  "n": 123456789012345678901234567890, "n": 1e2 }"#;
    let body = format!("{{ \"payload\" :  {payload} , \"event_type\":\"a.b\"}}");
    let reply = server.call("POST", &path, &tenant.key, &body).await.expect(202);
    let own = format!("{path}/{}", reply.text("id"));
    let kept = server.get(&format!("{own}/payload"), &tenant.key).await.expect(200);
    assert_eq!(kept.body, payload);
    assert_eq!(kept.header("content-type"), "application/json");
    let shown = server.get(&own, &tenant.key).await.expect(200).json();
    assert_eq!((&shown["size"], &shown["event_type"]), (&payload.len().into(), &"a.b".into()));
}

#[tokio::test]
async fn bytes_of_any_type_are_kept_with_their_type() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/messages/raw?event_type=file.made", tenant.path);
    let request = server.request("POST", &path, &tenant.key);
    let mut request = request.header("idempotency-key", "f1");
    request.headers_mut().unwrap().insert("content-type", "text/html; x=1".parse().unwrap());
    let bytes = Bytes::from_static(b"\x00\xff<script>");
    let reply = server.send(request, bytes.clone()).await.expect(202);
    let payload = format!("{}/messages/{}/payload", tenant.path, reply.text("id"));
    let kept = server.get(&payload, &tenant.key).await.expect(200);
    assert_eq!((kept.body.clone(), kept.header("content-type")), (bytes, "text/html; x=1"));
    assert_eq!(kept.header("content-security-policy"), "sandbox");
}

#[tokio::test]
async fn the_same_key_at_once_made_several_messages() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let body = r#"{"event_type": "a", "payload": 1}"#;
    let calls = (0..16).map(|_| send(&server, &tenant, "order-17", body));
    let mut replies = Vec::new();
    let mut set: Vec<_> = calls.map(Box::pin).collect();
    // All are begun before any is waited for.
    std::future::poll_fn(|context| {
        set.retain_mut(|call| match call.as_mut().poll(context) {
            std::task::Poll::Ready(reply) => {
                replies.push(reply);
                false
            }
            std::task::Poll::Pending => true,
        });
        if set.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    let fresh = replies.iter().filter(|reply| reply["repeated"] == false).count();
    assert_eq!(fresh, 1);
    assert!(replies.iter().all(|reply| reply["id"] == replies[0]["id"]));
    let other = send(&server, &tenant, "order-18", body).await;
    assert_ne!(other["id"], replies[0]["id"]);
}

#[tokio::test]
async fn the_trace_of_a_request_was_lost() {
    const ONE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    const BROKEN: &str = "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01";
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/messages", tenant.path);
    let post = async |path: &str, parent: &str, body: Value| {
        let request = server.request("POST", path, &tenant.key).header("traceparent", parent);
        let body = Bytes::from(body.to_string());
        server.send(request, body).await.expect(202).json()
    };
    let kept = async |id: &Value| {
        let own = format!("{path}/{}", id.as_str().unwrap());
        server.get(&own, &tenant.key).await.expect(200).json()["traceparent"].clone()
    };
    let plain = json!({"event_type": "a", "payload": 1});
    let own = json!({"event_type": "a", "payload": 1, "traceparent": OTHER, "tracestate": "a=1"});
    let bad = json!({"event_type": "a", "payload": 1, "traceparent": BROKEN});
    for (parent, body, expected) in [
        (ONE, &plain, json!(ONE)),
        (BROKEN, &plain, Value::Null),
        (ONE, &own, json!(OTHER)),
        (ONE, &bad, json!(ONE)),
        (BROKEN, &bad, Value::Null),
    ] {
        let made = post(&path, parent, body.clone()).await;
        assert_eq!(kept(&made["id"]).await, expected, "{parent} {body}");
    }
    let raw = post(&format!("{path}/raw?event_type=a"), ONE, json!(1)).await;
    assert_eq!(kept(&raw["id"]).await, ONE);
    let batch = json!({"messages": [plain, own, bad]});
    let made = post(&format!("{path}/batch"), ONE, batch).await;
    for (n, expected) in [ONE, OTHER, ONE].into_iter().enumerate() {
        assert_eq!(kept(&made["messages"][n]["id"]).await, expected);
    }
}

#[tokio::test]
async fn half_a_batch_was_accepted() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let (batch, list) =
        (format!("{}/messages/batch", tenant.path), format!("{}/messages", tenant.path));
    let good = json!({"event_type": "a", "payload": {"n": 1}});
    for (bad, field) in [
        (json!({"event_type": "a b", "payload": 1}), "messages[1].event_type"),
        (json!({"event_type": "stagger.x", "payload": 1}), "messages[1].event_type"),
        (json!({"event_type": "a"}), "messages[1]"),
        (
            json!({"event_type": "a", "payload": 1, "idempotency_key": ""}),
            "messages[1].idempotency_key",
        ),
        (json!({"event_type": "a", "payload": 1, "pay": 2}), "messages[1].pay"),
    ] {
        let body = json!({"messages": [good, bad]}).to_string();
        let told = server.call("POST", &batch, &tenant.key, &body).await.refused(400);
        assert_eq!(told.text("field"), field);
    }
    for count in [0, 1_001] {
        let body = json!({"messages": vec![good.clone(); count]}).to_string();
        let told = server.call("POST", &batch, &tenant.key, &body).await.refused(400);
        assert_eq!(told.text("bound"), "1 to 1000 messages");
    }
    assert_eq!(server.get(&list, &tenant.key).await.json()["items"], json!([]));
    let body = json!({"messages": vec![good; 1_000]}).to_string();
    let reply = server.call("POST", &batch, &tenant.key, &body).await.expect(202).json();
    assert_eq!(reply["messages"].as_array().unwrap().len(), 1_000);
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_filtered() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.push(id(&server.message(&tenant).await).to_owned());
    }
    sent.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("{}/messages?limit=2&event_type=invoice.paid{cursor}", tenant.path);
        let page = server.get(&path, &tenant.key).await.expect(200).json();
        let ids = page["items"].as_array().unwrap().iter();
        seen.extend(ids.map(|item| item["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, sent);
    let empty = format!("{}/messages?until=1999-12-31T00:00:00Z", tenant.path);
    assert_eq!(server.get(&empty, &tenant.key).await.json()["items"], json!([]));
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=251", "limit"),
        ("cursor=x", "cursor"),
        ("since=yesterday", "since"),
        ("event_type=..", "event_type"),
    ] {
        let path = format!("{}/messages?{query}", tenant.path);
        assert_eq!(server.get(&path, &tenant.key).await.refused(400).text("field"), field);
    }
    server.get(&format!("{}/messages?evnt_type=a", tenant.path), &tenant.key).await.refused(400);
}

#[tokio::test]
async fn a_delivery_is_shown_cancelled_and_replayed() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let ep = server.endpoint(&tenant).await;
    server.call("POST", &format!("{ep}/disable"), &tenant.key, "").await.expect(204);
    let msg = server.message(&tenant).await;
    let own = format!("{msg}/deliveries/{}", id(&ep));
    let shown = server.get(&own, &tenant.key).await.expect(200).json();
    assert_eq!((&shown["state"], &shown["attempts"]), (&"pending".into(), &0.into()));
    let all = server.get(&format!("{msg}/deliveries"), &tenant.key).await.expect(200).json();
    assert_eq!(all["items"], json!([shown]));
    let listed = format!("{}/deliveries?state=pending&endpoint={}", tenant.path, id(&ep));
    assert_eq!(server.get(&listed, &tenant.key).await.json()["items"], json!([shown]));
    let attempts = server.get(&format!("{own}/attempts"), &tenant.key).await.expect(200);
    assert_eq!(attempts.json()["items"], json!([]));
    server.call("POST", &format!("{own}/replay"), &tenant.key, "").await.refused(409);
    let cancelled =
        server.call("POST", &format!("{own}/cancel"), &tenant.key, "").await.expect(200);
    assert_eq!(cancelled.text("state"), "cancelled");
    server.call("POST", &format!("{own}/cancel"), &tenant.key, "").await.refused(409);
    let again = server.call("POST", &format!("{own}/replay"), &tenant.key, "").await.expect(202);
    assert_eq!(again.json(), json!({"replayed": 1}));
    for path in [format!("{ep}/replay"), format!("{}/replay", tenant.path)] {
        let none =
            server.call("POST", &path, &tenant.key, r#"{"state": "dead"}"#).await.expect(202);
        assert_eq!(none.json(), json!({"replayed": 0}));
        let told = server.call("POST", &path, &tenant.key, r#"{"state": "waiting"}"#).await;
        assert_eq!(told.refused(400).text("field"), "state");
    }
}

#[tokio::test]
async fn a_key_with_other_contents_passed_within_a_batch() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/messages/batch", tenant.path);
    let message = |payload: u32, key: &str| json!({"event_type": "a", "payload": payload, "idempotency_key": key});
    let batch = async |messages: &[Value]| {
        let body = json!({ "messages": messages }).to_string();
        server.call("POST", &path, &tenant.key, &body).await
    };
    let twins = batch(&[message(1, "k-1"), message(2, "k-1")]).await.refused(422);
    assert_eq!(twins.text("field"), "messages[1].idempotency_key");
    assert!(twins.text("detail").contains("that of messages[0]"), "{twins:?}");
    let listed = async || {
        let list = server.get(&format!("{}/messages", tenant.path), &tenant.key).await;
        list.expect(200).json()["items"].as_array().expect("a list").len()
    };
    assert_eq!(listed().await, 0, "nothing is accepted");

    let same = batch(&[message(1, "k-1"), message(1, "k-1"), message(2, "k-2")]).await.expect(202);
    let ids = same.json()["messages"].clone();
    assert_eq!(ids[0]["id"], ids[1]["id"]);
    let later = batch(&[message(3, "k-3"), message(9, "k-2")]).await.refused(422);
    assert_eq!(later.text("field"), "messages[1].idempotency_key");
    let detail = later.text("detail");
    assert!(detail.contains(ids[1]["id"].as_str().expect("an id")) || detail.contains("msg_"));
    assert!(detail.contains("without this fault are accepted"), "{detail}");
    assert_eq!(listed().await, 3);
    let again = batch(&[message(3, "k-3")]).await.expect(202).json();
    assert_eq!(again["messages"][0]["repeated"], true);
}

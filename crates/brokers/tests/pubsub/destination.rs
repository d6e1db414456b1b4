//! Attempts at a topic.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use stagger::{Instant, Span};
use stagger_scheduler::model::*;
use stagger_testkit::server::{Reaction, Script, TestServer};
use uuid::Uuid;

use crate::shared::{message, sender};

const TOPIC: &str = "/v1/projects/shop/topics/orders:publish";

pub(crate) fn endpoint(url: &str, auth: Option<EndpointAuth>) -> Endpoint {
    let ordering_key = Some("{event.type}".to_owned());
    Endpoint {
        destination: Some(EndpointDestination::PubSub(PubSubDestination { ordering_key })),
        auth,
        secrets: vec![Secret { kind: SecretKind::Symmetric, key: vec![7; 32], until: None }],
        timeout: Span::from_secs(20),
        ..Endpoint::new(
            EndpointId::from_uuid(Uuid::from_u128(1)),
            ApplicationId::from_uuid(Uuid::from_u128(2)),
            url,
            Instant::ORIGIN,
        )
    }
}

pub(crate) async fn send(to: &Endpoint) -> AttemptAnswer {
    sender(true).send(to, &message(7), Bytes::from_static(b"{\"a\":1}"), 1).await
}

fn bearer(token: &str) -> Option<EndpointAuth> {
    Some(EndpointAuth::Bearer { token: SecretText::new(token) })
}

#[tokio::test]
async fn a_message_is_published_as_the_reference_writes_it() {
    let taken = Reaction::ok(r#"{"messageIds":["19916711285"]}"#);
    let server = TestServer::start(Script::of([]).on_path(TOPIC, Script::always(taken))).await;
    let to = endpoint(&server.url(TOPIC), bearer("ya29.token"));
    sender(true).check(&to).expect("it can be saved");
    let answer = send(&to).await;
    assert_eq!((answer.result, answer.written), (Ok(200), true), "{answer:?}");
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].path.as_str()), (1, TOPIC));
    let header = |name: &str| {
        seen[0].headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned()
    };
    assert_eq!(
        (header("authorization"), header("content-type")),
        ("Bearer ya29.token".into(), "application/json".into())
    );
    let body: Value = serde_json::from_slice(&seen[0].body).expect("JSON");
    let message = &body["messages"][0];
    let members: Vec<_> = message.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["attributes", "data", "orderingKey"]);
    assert_eq!(
        (&message["data"], &message["orderingKey"]),
        (&json!(STANDARD.encode("{\"a\":1}")), &json!("invoice.paid"))
    );
    let attributes = message["attributes"].as_object().expect("an object");
    assert_eq!(attributes["stagger-event-type"], "invoice.paid");
    for (name, value) in attributes {
        let value = value.as_str().expect("attributes are texts");
        assert!(name.len() <= 256 && value.len() <= 1024 && !name.starts_with("goog"), "{name}");
    }
}

#[tokio::test]
async fn a_token_that_has_expired_is_replaced_once_and_a_fixed_one_is_told() {
    let expired = r#"{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}"#;
    let tokens = ["old", "new"].map(|it| {
        Reaction::ok(format!(
            r#"{{"access_token":"{it}","token_type":"Bearer","expires_in":3600}}"#
        ))
    });
    let topic =
        Script::of([]).on_header("authorization", "Bearer new", Script::always(Reaction::ok("{}")));
    _ = topic;
    let script = Script::of([]).on_path("/token", Script::of(tokens)).on_path(
        TOPIC,
        Script::of([Reaction::ok("{}"), Reaction::status(401).body(expired), Reaction::ok("{}")]),
    );
    let server = TestServer::start(script).await;
    let client = OAuth2Client {
        token_url: server.url("/token"),
        client_id: "hooks".into(),
        client_secret: SecretText::new("s"),
        scope: None,
        audience: None,
        style: ClientAuthStyle::Header,
    };
    let (sender, to) =
        (sender(true), endpoint(&server.url(TOPIC), Some(EndpointAuth::OAuth2(client))));
    let target = sender.prepare(&to);
    for _ in 0..2 {
        let answer = sender.send_to(&target, &message(7), Bytes::from_static(b"1"), 1).await;
        assert_eq!(answer.result, Ok(200), "{answer:?}");
    }
    let seen = server.seen();
    let used = seen.iter().filter(|it| it.path == TOPIC);
    let used: Vec<_> =
        used.map(|it| it.headers["authorization"].to_str().expect("text").to_owned()).collect();
    assert_eq!(used, ["Bearer old", "Bearer old", "Bearer new"]);

    let server = TestServer::start(Script::always(Reaction::status(401).body(expired))).await;
    let answer = send(&endpoint(&server.url(TOPIC), bearer("hunter2"))).await;
    assert_eq!(answer.result, Ok(401));
    assert!(
        answer.detail.as_deref().is_some_and(|it| it.starts_with("UNAUTHENTICATED")),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_topic_that_is_busy_down_or_forbidden_is_told() {
    let busy =
        r#"{"error":{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED"}}"#;
    let busy = Reaction::status(429).header("retry-after", "7").body(busy);
    let server = TestServer::start(Script::always(busy)).await;
    let answer = send(&endpoint(&server.url(TOPIC), None)).await;
    assert_eq!((answer.result, answer.hint.is_some()), (Ok(429), true), "{answer:?}");
    let down = send(&endpoint(&format!("http://127.0.0.1:1{TOPIC}"), None)).await;
    assert_eq!((down.result, down.written), (Err(AttemptFailure::Connect), false), "{down:?}");
    for (host, allow_private) in [("127.0.0.1", false), ("169.254.169.254", true)] {
        let to = endpoint(&format!("http://{host}{TOPIC}"), None);
        let sender = sender(allow_private);
        assert!(sender.check(&to).expect_err(host).to_string().contains("globally routable"));
        let answer = sender.send(&to, &message(7), Bytes::new(), 1).await;
        assert_eq!(answer.result, Err(AttemptFailure::Egress), "{answer:?}");
    }
}

#[tokio::test]
async fn what_a_topic_can_never_take_is_permanent() {
    let server = TestServer::start(Script::always(Reaction::ok("{}"))).await;
    let mut long = endpoint(&server.url(TOPIC), None);
    long.headers =
        vec![HeaderTemplate { name: "x-a".into(), value: "x".repeat(1025), sensitive: false }];
    let mut key = endpoint(&server.url(TOPIC), None);
    let ordering_key = Some("x".repeat(1025));
    key.destination = Some(EndpointDestination::PubSub(PubSubDestination { ordering_key }));
    for to in [long, key] {
        let answer = send(&to).await;
        assert_eq!(
            (answer.result, answer.written),
            (Err(AttemptFailure::Unbuildable), false),
            "{answer:?}"
        );
    }
    let large = vec![b'x'; 10_000_000];
    let answer =
        sender(true).send(&endpoint(&server.url(TOPIC), None), &message(7), large.into(), 1).await;
    assert_eq!(answer.result, Err(AttemptFailure::Unbuildable));
    assert_eq!(server.taken(), 0);
    let wrong =
        sender(true).check(&endpoint("https://pubsub.googleapis.com/v1/projects/shop", None));
    assert!(wrong.expect_err("no topic").to_string().contains(":publish"));
}

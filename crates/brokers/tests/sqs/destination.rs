//! Attempts at a queue.

use bytes::Bytes;
use stagger::{Instant, Span};
use stagger_scheduler::model::*;
use stagger_testkit::server::{Reaction, Script, TestServer};
use uuid::Uuid;

use crate::emulator::Emulator;
use crate::shared::{message, sender};

fn endpoint(url: &str, (id, secret): (&str, &str), group: Option<&str>) -> Endpoint {
    let (region, group) = ("eu-central-1".to_owned(), group.map(str::to_owned));
    let identity = AwsIdentity {
        access_key_id: id.to_owned(),
        secret_access_key: SecretText::new(secret),
        session_token: None,
    };
    Endpoint {
        destination: Some(EndpointDestination::Sqs(SqsDestination { region, group })),
        auth: Some(EndpointAuth::Aws(identity)),
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

async fn send(to: &Endpoint, id: u128, payload: impl Into<Bytes>) -> AttemptAnswer {
    sender(true).send(to, &message(id), payload.into(), 1).await
}

#[tokio::test]
async fn a_queue_has_the_message_with_its_attributes_and_one_of_order_has_it_once() {
    let Some(emulator) = Emulator::start().await else { return };
    let (id, secret) = (emulator.made("id"), emulator.made("secret"));
    let plain = endpoint(&emulator.made("plain"), (&id, &secret), None);
    sender(true).check(&plain).expect("it can be saved");
    let answer = send(&plain, 7, "{\"a\":\"é\"}").await;
    assert_eq!((answer.result, answer.written), (Ok(200), true), "{answer:?}");
    let stored = emulator.drain("plain").await;
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0]["body"], "{\"a\":\"é\"}");
    let attributes = &stored[0]["attributes"];
    assert_eq!(attributes["webhook-id"], message(7).id.to_string());
    assert_eq!(attributes["stagger-event-type"], "invoice.paid");
    assert!(attributes["webhook-signature"].as_str().is_some_and(|it| it.starts_with("v1,")));

    let fifo = endpoint(&emulator.made("fifo"), (&id, &secret), Some("{event.type}"));
    for _ in 0..2 {
        assert_eq!(send(&fifo, 8, "1").await.result, Ok(200));
    }
    assert_eq!(emulator.drain("fifo").await.len(), 1);
}

#[tokio::test]
async fn an_access_key_that_is_wrong_or_expired_is_told_and_its_secret_is_not() {
    let Some(emulator) = Emulator::start().await else { return };
    let (id, url) = (emulator.made("id"), emulator.made("plain"));
    for (key, code) in [
        ((id.as_str(), "hunter2"), "SignatureDoesNotMatch"),
        (("AKIDNOBODY", "hunter2"), "InvalidClientTokenId"),
    ] {
        let answer = send(&endpoint(&url, key, None), 7, "1").await;
        assert_eq!(answer.result, Ok(401), "{answer:?}");
        let detail = answer.detail.as_deref().unwrap_or_default();
        assert!(detail.contains(code) && !format!("{answer:?}").contains("hunter2"), "{detail}");
    }
    // The emulator knows no temporary credentials: this is the answer of AWS, as its reference documents it.
    let expired = r#"{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}"#;
    let server = TestServer::start(Script::always(Reaction::status(403).body(expired))).await;
    let mut to = endpoint(&server.url("/123456789012/orders"), ("AKID", "s"), None);
    if let Some(EndpointAuth::Aws(identity)) = &mut to.auth {
        identity.session_token = Some(SecretText::new("session"));
    }
    let answer = send(&to, 7, "1").await;
    assert_eq!(answer.result, Ok(401), "{answer:?}");
    assert!(answer.detail.is_some_and(|it| it.starts_with("ExpiredTokenException")));
    let seen = server.seen();
    let header = |name: &str| {
        seen[0].headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned()
    };
    assert_eq!(
        (header("x-amz-security-token"), header("x-amz-target")),
        ("session".into(), "AmazonSQS.SendMessage".into())
    );
    assert!(
        header("authorization").contains(
            "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
        )
    );
    let busy = r#"{"__type":"RequestThrottled","message":"slow down"}"#;
    let server = TestServer::start(Script::always(Reaction::status(400).body(busy))).await;
    let to = endpoint(&server.url("/123456789012/orders"), ("AKID", "s"), None);
    assert_eq!(send(&to, 7, "1").await.result, Ok(429));
}

#[tokio::test]
async fn messages_and_queues_that_cannot_be_are_told_apart_from_a_broker_that_is_down() {
    let Some(mut emulator) = Emulator::start().await else { return };
    let (id, secret) = (emulator.made("id"), emulator.made("secret"));
    let to = |url: &str| endpoint(url, (&id, &secret), None);
    let plain = to(&emulator.made("plain"));
    for (payload, why) in [(vec![0xff, 0xfe], "text"), (vec![b'x'; 1 << 20], "1048576")] {
        let answer = send(&plain, 7, payload).await;
        assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Unbuildable), false));
        assert!(answer.detail.as_deref().is_some_and(|it| it.contains(why)), "{answer:?}");
    }
    let gone = send(&to(&emulator.made("plain").replace("orders", "nowhere")), 7, "1").await;
    assert_eq!(gone.result, Ok(404), "{gone:?}");
    emulator.kill().await;
    let down = send(&plain, 7, "1").await;
    assert_eq!((down.result, down.written), (Err(AttemptFailure::Connect), false), "{down:?}");
}

#[tokio::test]
async fn addresses_that_no_webhook_may_reach_no_queue_may_have() {
    for (host, allow_private) in
        [("127.0.0.1", false), ("169.254.169.254", true), ("[fd00:ec2::254]", true)]
    {
        let to = endpoint(&format!("http://{host}/123456789012/orders"), ("A", "s"), None);
        let refused = sender(allow_private).check(&to).expect_err(host).to_string();
        assert!(
            refused.starts_with("endpoint.url") && refused.contains("globally routable"),
            "{refused}"
        );
        let answer = sender(allow_private).send(&to, &message(7), Bytes::new(), 1).await;
        assert_eq!(
            (answer.result, answer.written),
            (Err(AttemptFailure::Egress), false),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn settings_that_do_not_fit_a_queue_are_refused() {
    let sender = sender(true);
    let url = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";
    let refused =
        |endpoint: &Endpoint| sender.check(endpoint).expect_err("it does not fit").to_string();
    assert!(sender.check(&endpoint(url, ("A", "s"), None)).is_ok());
    assert!(refused(&endpoint(url, ("A", "s"), Some("g"))).starts_with("destination.group"));
    assert!(
        refused(&endpoint(&format!("{url}.fifo"), ("A", "s"), None))
            .starts_with("destination.group")
    );
    assert!(
        refused(&endpoint("https://sqs.eu-central-1.amazonaws.com/", ("A", "s"), None))
            .starts_with("endpoint.url")
    );
    let secret = refused(&endpoint(url, ("A", "hunter 2"), None));
    assert!(secret.starts_with("auth.secret_access_key") && !secret.contains("hunter"), "{secret}");
    let basic = EndpointAuth::Basic { username: "a".into(), password: SecretText::new("b") };
    let other = Endpoint { auth: Some(basic), ..endpoint(url, ("A", "s"), None) };
    assert!(refused(&other).starts_with("auth = basic"));
}

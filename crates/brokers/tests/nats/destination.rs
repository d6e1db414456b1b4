//! Attempts at a NATS server.

use base64::Engine;
use bytes::Bytes;
use serde_json::json;
use stagger::{Instant, Span};
use stagger_scheduler::model::*;
use stagger_sender::{Received, Sender, Verifier, secret_text};
use uuid::Uuid;

use crate::server::{NatsServer, RawClient};
use crate::shared::{message, sender};

pub(crate) fn endpoint(url: &str, subject: &str, change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let nats = NatsDestination { subject: subject.to_owned(), jetstream: true, stream: None };
    let mut endpoint = Endpoint {
        destination: Some(EndpointDestination::Nats(nats)),
        secrets: vec![Secret { kind: SecretKind::Symmetric, key: vec![7; 32], until: None }],
        timeout: Span::from_secs(20),
        ..Endpoint::new(
            EndpointId::from_uuid(Uuid::from_u128(1)),
            ApplicationId::from_uuid(Uuid::from_u128(2)),
            url,
            Instant::ORIGIN,
        )
    };
    change(&mut endpoint);
    endpoint
}

pub(crate) async fn send(sender: &Sender, endpoint: &Endpoint, payload: &str) -> AttemptAnswer {
    sender.send(endpoint, &message(7), Bytes::from(payload.to_owned()), 1).await
}

pub(crate) fn core(endpoint: &mut Endpoint) {
    if let Some(EndpointDestination::Nats(nats)) = &mut endpoint.destination {
        nats.jetstream = false;
    }
}

fn basic(password: &str) -> Option<EndpointAuth> {
    let (username, password) = ("shop".to_owned(), SecretText::new(password));
    Some(EndpointAuth::Basic { username, password })
}

#[tokio::test]
async fn a_stream_confirms_a_message_and_knows_it_when_it_comes_again() {
    let Some(server) = NatsServer::start("").await else { return };
    server.stream("EVENTS", &["events.>"], json!({})).await;
    let sender = sender(true);
    let to = endpoint(&server.url(), "events.{event.type}", |it| {
        it.headers = vec![HeaderTemplate {
            name: "x-shop".into(),
            value: "{event.type}".into(),
            sensitive: false,
        }];
    });
    sender.check(&to).expect("it can be saved");
    let target = sender.prepare(&to);
    let once = || async {
        sender.send_to(&target, &message(7), Bytes::from_static(b"{\"a\":1}"), 1).await
    };
    let first = once().await;
    assert_eq!((first.result, first.written), (Ok(200), true), "{first:?}");
    assert!(String::from_utf8_lossy(&first.reply).contains("\"seq\":1"), "{first:?}");
    let again = once().await;
    assert!(
        String::from_utf8_lossy(&again.reply).contains("\"duplicate\": true")
            || String::from_utf8_lossy(&again.reply).contains("\"duplicate\":true"),
        "{again:?}"
    );

    let mut client = RawClient::connect(server.port, "").await;
    let info = client.request("$JS.API.STREAM.INFO.EVENTS", "").await;
    assert_eq!(info["state"]["messages"], 1, "{info}");
    let stored = client.request("$JS.API.STREAM.MSG.GET.EVENTS", r#"{"seq":1}"#).await;
    assert_eq!(stored["message"]["subject"], "events.invoice.paid");
    let text = |name: &str| {
        let bytes = stored["message"][name].as_str().expect("base64");
        let bytes = base64::engine::general_purpose::STANDARD.decode(bytes).expect("base64");
        String::from_utf8(bytes).expect("text")
    };
    assert_eq!(text("data"), "{\"a\":1}");
    let headers = text("hdrs");
    let header = |name: &str| {
        let line = headers.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("{name} is not in {headers}")).to_owned()
    };
    assert_eq!(header("Nats-Msg-Id"), message(7).id.to_string());
    assert_eq!(
        (header("x-shop"), header("stagger-event-type")),
        ("invoice.paid".into(), "invoice.paid".into())
    );
    let key = secret_text(&to.secrets[0]);
    let verifier = Verifier::parse([key.as_str()]).expect("a key");
    let (id, timestamp, signature) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
    let received =
        Received { id: &id, timestamp: &timestamp, signature: &signature, body: b"{\"a\":1}" };
    let now = Instant::ORIGIN + Span::from_secs(timestamp.parse().expect("seconds"));
    verifier.verify(&received, now, Span::from_secs(1)).expect("it is signed");
}

#[tokio::test]
async fn core_nats_reaches_those_who_listen() {
    let Some(server) = NatsServer::start("").await else { return };
    let mut client = RawClient::connect(server.port, "").await;
    client.subscribe("events.*").await;
    let to = endpoint(&server.url(), "events.all", core);
    assert_eq!(send(&sender(true), &to, "hello").await.result, Ok(200));
    let (headers, payload) = client.message().await;
    assert!(headers.contains("webhook-signature: v1,") && payload == "hello", "{headers}");
}

#[tokio::test]
async fn credentials_that_are_wrong_or_were_replaced_are_told_and_right_ones_work() {
    let user = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    let users = "authorization { users = [
        { user: shop, password: right, permissions: { publish: [\"events.>\", \"_INBOX.>\"], subscribe: \"_INBOX.>\" } }
        { nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 }
    ] }";
    let Some(mut server) = NatsServer::start(users).await else { return };
    let (sender, url) = (sender(true), server.url());
    let with = |subject: &str, auth: Option<EndpointAuth>| {
        endpoint(&url, subject, |endpoint| {
            core(endpoint);
            endpoint.auth = auth;
        })
    };
    let result = async |to: &Endpoint| send(&sender, to, "x").await;
    assert_eq!(result(&with("events.a", basic("right"))).await.result, Ok(200));
    for auth in [None, basic("wrong")] {
        let answer = result(&with("events.a", auth)).await;
        assert_eq!(answer.result, Ok(401), "{answer:?}");
        assert!(!format!("{answer:?}").contains("wrong"));
    }
    let denied = result(&with("other.a", basic("right"))).await;
    assert_eq!(denied.result, Ok(403), "{denied:?}");
    let nkey = |seed: &str| {
        Some(EndpointAuth::Nkey(NkeyIdentity { seed: SecretText::new(seed), jwt: None }))
    };
    assert_eq!(result(&with("other.a", nkey(user))).await.result, Ok(200));
    let flaw = sender.check(&with("other.a", nkey("SUA"))).expect_err("no seed").to_string();
    assert!(flaw.contains("auth.seed") && !flaw.contains("SUA"), "{flaw}");

    // The token of a server is replaced while a connection that has authenticated with the old one is idle.
    server.restart("authorization { token: old }").await;
    let token = |token: &str| Some(EndpointAuth::Bearer { token: SecretText::new(token) });
    let (old, new) =
        (sender.prepare(&with("a", token("old"))), sender.prepare(&with("a", token("new"))));
    let attempt = async |target| sender.send_to(target, &message(7), Bytes::new(), 1).await.result;
    assert_eq!(attempt(&old).await, Ok(200));
    server.restart("authorization { token: new }").await;
    assert_eq!(attempt(&old).await, Ok(401));
    assert_eq!(attempt(&new).await, Ok(200));
}

#[tokio::test]
async fn a_server_that_is_down_is_a_failure_to_connect_until_it_is_back() {
    let Some(mut server) = NatsServer::start("").await else { return };
    server.stream("EVENTS", &["events.>"], json!({})).await;
    let sender = sender(true);
    let target = sender.prepare(&endpoint(&server.url(), "events.a", |_| {}));
    let attempt = async || sender.send_to(&target, &message(7), Bytes::from_static(b"1"), 1).await;
    assert_eq!(attempt().await.result, Ok(200));
    server.stop().await;
    let down = attempt().await;
    assert_eq!((down.result, down.written), (Err(AttemptFailure::Connect), false), "{down:?}");
    server.restart("").await;
    assert_eq!(attempt().await.result, Ok(200));
}

#[tokio::test]
async fn a_message_that_the_server_can_never_take_is_permanent_and_one_that_it_cannot_take_now_is_not()
 {
    let Some(server) = NatsServer::start("max_payload: 2000").await else { return };
    server.stream("SMALL", &["small"], json!({"max_msgs": 1, "discard": "new"})).await;
    let (sender, url) = (sender(true), server.url());
    let large = send(&sender, &endpoint(&url, "small", |_| {}), &"x".repeat(2000)).await;
    assert_eq!(
        (large.result, large.written),
        (Err(AttemptFailure::Unbuildable), false),
        "{large:?}"
    );
    assert_eq!(send(&sender, &endpoint(&url, "small", |_| {}), "1").await.result, Ok(200));
    let other = Message { id: MessageId::from_uuid(Uuid::from_u128(8)), ..message(8) };
    let full =
        sender.send(&endpoint(&url, "small", |_| {}), &other, Bytes::from_static(b"2"), 1).await;
    assert_eq!(full.result, Ok(503), "{full:?}");
    assert_eq!(full.detail.as_deref(), Some("maximum messages exceeded"));
    let nowhere = send(&sender, &endpoint(&url, "nowhere", |_| {}), "1").await;
    assert_eq!(nowhere.result, Ok(404), "{nowhere:?}");
    let elsewhere = endpoint(&url, "small", |it| {
        let nats = NatsDestination {
            subject: "small".into(),
            jetstream: true,
            stream: Some("OTHER".into()),
        };
        it.destination = Some(EndpointDestination::Nats(nats));
    });
    assert_eq!(send(&sender, &elsewhere, "1").await.result, Ok(400));
}

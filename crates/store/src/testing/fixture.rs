//! Rows for tests: number n of anything is made at millisecond n, and named so.
#![expect(clippy::missing_panics_doc, reason = "a test that asks for a wrong row has to end")]

use std::num::NonZeroU32;

use bytes::Bytes;
use stagger::engine::Saved;
use stagger::{Instant, Policy, Ratio, Span, Verdict};
use stagger_scheduler::model::{
    Application, ApplicationId, AttemptFailure, AttributeValue, AwsIdentity, ChannelName,
    ClientAuthStyle, ClientIdentity, ClosedLink, ContentFilter, Delivery, DeliveryAttempt,
    DeliveryEnding, DeliveryState, Endpoint, EndpointAuth, EndpointDestination, EndpointId,
    EventAttributes, EventFilter, EventFormat, EventValidation, HeaderTemplate, KafkaDestination,
    KafkaSasl, KeyHash, Labels, LinkEnd, Message, MessageId, NatsDestination, NewMessage,
    NkeyIdentity, OAuth2Client, Pace, PortalAccess, PortalLinkId, PubSubDestination, Recovery,
    Secret, SecretKind, SecretText, SignatureScheme, SqsDestination, Statuses, TraceContext,
};
use uuid::Uuid;

use crate::{
    DeliveryStore, DocumentKey, DocumentKind, Fence, PageRequest, SettingDocument, Settlement,
};

/// Millisecond `n`.
#[must_use]
pub fn at(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(n)
}

/// The id of application `n`.
#[must_use]
pub fn app(n: u64) -> ApplicationId {
    ApplicationId::from_uuid(uuid(n, 1))
}

/// The id of endpoint `n`.
#[must_use]
pub fn ep(n: u64) -> EndpointId {
    EndpointId::from_uuid(uuid(n, 2))
}

/// The id of message `n`.
#[must_use]
pub fn msg(n: u64) -> MessageId {
    MessageId::from_uuid(uuid(n, 3))
}

/// Application `n`, with every field filled.
#[must_use]
pub fn application(n: u64) -> Application {
    Application {
        id: app(n),
        name: format!("application {n} \u{e4}"),
        keys: vec![KeyHash::of("one"), KeyHash::of("two")],
        slots: number(7),
        created_at: at(n),
        labels: labels(n),
        portal: PortalAccess {
            key: Some([n.to_le_bytes()[0]; 32]),
            closed: vec![
                ClosedLink { id: link(1), until: at(9), end: LinkEnd::Opened },
                ClosedLink { id: link(2), until: at(8), end: LinkEnd::Deleted },
            ],
        },
        retention: Some(Span::from_secs(7 * 24 * 60 * 60)),
        source: Some("https://shop.example/orders".into()),
        event_validation: Some(EventValidation::Schema),
    }
}

/// A document with a text and without a use.
#[must_use]
pub fn setting(kind: DocumentKind, id: &str) -> SettingDocument {
    let text = format!("{{\"name\":\"{id} \u{e4}\"}}");
    SettingDocument { key: DocumentKey::new(kind, id), text, used_on: None }
}

fn link(n: u64) -> PortalLinkId {
    PortalLinkId::from_uuid(uuid(n, 4))
}

/// Endpoint `n` of application `of`, with every field filled.
#[must_use]
pub fn endpoint(n: u64, of: u64) -> Endpoint {
    let secret = |kind, until| Secret { kind, key: vec![n.to_le_bytes()[0], 255, 0, 7], until };
    Endpoint {
        id: ep(n),
        application: app(of),
        url: format!("https://example.com/{n}?a=\"b\""),
        destination: destination(n),
        description: "two\nlines".into(),
        events: EventFilter::Only(vec![
            "invoice.paid".parse().expect("it is valid"),
            "a-b.*".parse().expect("it is valid"),
        ]),
        channels: vec![channel("a"), channel("project:17")],
        filter: Some(filter()),
        policy: Policy::builder()
            .max_attempts(9)
            .deadline(Span::from_secs(77))
            .build()
            .expect("it is valid"),
        timeout: Span::from_millis(12_345),
        pace: Pace {
            concurrency: number(3),
            rate: Some(number(11)),
            recovery: Recovery {
                from: Ratio::from_ppm(123_457),
                rate: number(13),
                over: Span::from_nanos(1_000_000_001),
            },
        },
        ordered: true,
        permanent: Statuses::try_from(vec![422, 400]).expect("it is valid"),
        disable_after: Span::from_secs(432_000),
        labels: labels(n),
        format: EventFormat::CloudEventsStructured,
        signatures: SignatureScheme::Both,
        handshake: true,
        secrets: vec![
            secret(SecretKind::Symmetric, Some(at(5))),
            secret(SecretKind::Asymmetric, None),
        ],
        headers: vec![HeaderTemplate {
            name: "x-event".into(),
            value: "{event.type}".into(),
            sensitive: true,
        }],
        auth: Some(auth(n)),
        created_at: at(n),
        updated_at: at(n + 1),
    }
}

/// A filter with every kind of rule.
fn filter() -> ContentFilter {
    let filter = serde_json::json!({"all": [
        {"path": "/n", "ge": 1, "lt": 1e9},
        {"any": [{"path": "/t~1x", "in": ["a", null, 1.5]}, {"not": {"path": "", "exists": false}}]},
        {"path": "/s", "prefix": "\u{e4}"},
    ]});
    ContentFilter::parse(&filter).expect("it is valid")
}

/// Credentials, of another kind for each of six endpoints in a row.
fn auth(n: u64) -> EndpointAuth {
    let secret = |text: &str| SecretText::new(format!("{text} hunter2 {n}"));
    match n % 6 {
        0 => EndpointAuth::Basic { username: "me".into(), password: secret("\u{e4}") },
        1 => EndpointAuth::OAuth2(OAuth2Client {
            token_url: "https://login.example/token".into(),
            client_id: "dispatcher".into(),
            client_secret: secret("client"),
            scope: Some("hooks:write a".into()),
            audience: Some("https://example.com".into()),
            style: ClientAuthStyle::Body,
        }),
        2 => EndpointAuth::Mtls(ClientIdentity {
            certificate: "a certificate".into(),
            key: secret("key"),
            ca: Some("another".into()),
        }),
        3 => EndpointAuth::Aws(AwsIdentity {
            access_key_id: "AKID".into(),
            secret_access_key: secret("aws"),
            session_token: Some(secret("session")),
        }),
        4 => EndpointAuth::Nkey(NkeyIdentity { seed: secret("seed"), jwt: Some(secret("jwt")) }),
        _ => EndpointAuth::Bearer { token: secret("token") },
    }
}

/// A broker for four of nine endpoints, each of another kind.
fn destination(n: u64) -> Option<EndpointDestination> {
    let text = |text: &str| Some(format!("{text} {n}"));
    match n % 9 {
        1 => Some(EndpointDestination::Kafka(KafkaDestination {
            topic: "a.{event.type}".into(),
            key: text("k"),
            sasl: Some(KafkaSasl::ScramSha256),
        })),
        3 => {
            Some(EndpointDestination::Sqs(SqsDestination { region: "r".into(), group: text("g") }))
        }
        6 => Some(EndpointDestination::PubSub(PubSubDestination { ordering_key: text("k") })),
        8 => Some(EndpointDestination::Nats(NatsDestination {
            subject: "a.{event.type}".into(),
            jetstream: false,
            stream: text("s"),
        })),
        _ => None,
    }
}

/// Message `n` of application `of` to `endpoints`.
#[must_use]
pub fn message(n: u64, of: u64, endpoints: &[u64]) -> NewMessage {
    let payload = Bytes::from(format!("{{\"n\":{n}}}"));
    NewMessage {
        message: Message {
            id: msg(n),
            application: app(of),
            event_type: if n.is_multiple_of(2) { "even" } else { "odd.one" }
                .parse()
                .expect("it is valid"),
            key: None,
            content_type: "application/json".into(),
            size: payload.len(),
            created_at: at(n),
            channels: if n.is_multiple_of(5) {
                vec![channel("a"), channel("b:1")]
            } else {
                Vec::new()
            },
            trace: n.is_multiple_of(3).then(|| trace(n)),
            attributes: if n.is_multiple_of(7) {
                attributes(n)
            } else {
                EventAttributes::default()
            },
        },
        payload,
        endpoints: endpoints.iter().map(|n| ep(*n)).collect(),
    }
}

/// Attributes of each type.
fn attributes(n: u64) -> EventAttributes {
    let text = |text: String| AttributeValue::Text(text);
    EventAttributes::new([
        ("id".into(), text(format!("A-{n}"))),
        ("source".into(), text("/shop".into())),
        ("subject".into(), text("\u{e4} \"1\"".into())),
        ("sampled".into(), AttributeValue::Boolean(true)),
        ("rank".into(), AttributeValue::Integer(-7)),
    ])
    .expect("they are valid")
}

/// The labels of thing `n`.
fn labels(n: u64) -> Labels {
    let uid = format!("thing-{n}").parse().expect("it is valid");
    Labels { uid: Some(uid), metadata: [("plan".into(), "\u{e4} \"gold\"".into())].into() }
}

/// The channel of this name.
#[must_use]
pub fn channel(name: &str) -> ChannelName {
    name.parse().expect("it is valid")
}

/// A trace, with a state of two members.
fn trace(n: u64) -> TraceContext {
    let parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{n:016x}-01");
    TraceContext::parse(&parent, ["a=1", "b=\"2"]).expect("it is valid")
}

/// The same with an idempotency key.
#[must_use]
pub fn keyed(n: u64, of: u64, endpoints: &[u64], key: &str) -> NewMessage {
    let mut new = message(n, of, endpoints);
    new.message.key = Some(key.parse().expect("it is valid"));
    new
}

/// Delivery of message `n` to endpoint `to`, as it is when `state` was reached at `now`.
#[must_use]
pub fn delivery(n: u64, to: u64, of: u64, state: DeliveryState, now: u64) -> Delivery {
    let failed = matches!(state, DeliveryState::Waiting | DeliveryState::Dead);
    let call = Saved {
        attempts: 2,
        retries: 1,
        elapsed: Span::from_secs(3),
        wait: Span::from_millis(70),
        prev: Span::from_nanos(u64::MAX),
        spent: 5,
        under_way: false,
        idempotent: true,
    };
    Delivery {
        state,
        due: at(now + 100),
        attempts: 2,
        call: failed.then_some(call),
        ending: (state == DeliveryState::Dead).then_some(DeliveryEnding::AttemptsExhausted),
        updated_at: at(now),
        ..Delivery::new(msg(n), ep(to), app(of), at(n))
    }
}

/// Attempt `number` at the delivery of message `n` to endpoint `to`.
#[must_use]
pub fn attempt(n: u64, to: u64, number: u32, verdict: Verdict) -> DeliveryAttempt {
    let well = verdict == Verdict::Ok;
    DeliveryAttempt {
        message: msg(n),
        endpoint: ep(to),
        number,
        started_at: at(n + u64::from(number)),
        latency: Span::from_micros(1500),
        status: well.then_some(204),
        failure: (!well).then_some(AttemptFailure::Tls),
        detail: (!well).then(|| "bad certificate".into()),
        reply: if well { Bytes::new() } else { Bytes::from_static(b"\0\xff!") },
        verdict,
        hint: (!well).then_some(Span::from_secs(9)),
        next: (!well).then_some(at(n + 1000)),
    }
}

/// A settlement of that delivery alone.
#[must_use]
pub fn settled(n: u64, to: u64, of: u64, state: DeliveryState, now: u64) -> Settlement {
    Settlement { delivery: Some(delivery(n, to, of, state, now)), ..Settlement::default() }
}

/// A page from the beginning.
#[must_use]
pub const fn page(limit: usize) -> PageRequest {
    PageRequest { after: None, limit }
}

/// Application 1 with endpoints 1 and 2, application 2 with endpoint 3, in a new run.
pub async fn furnish(store: &dyn DeliveryStore) -> Fence {
    for n in [1, 2] {
        store.put_application(application(n)).await.expect("it is valid");
    }
    for (n, of) in [(1, 1), (2, 1), (3, 2)] {
        store.put_endpoint(endpoint(n, of)).await.expect("it is valid");
    }
    store.begin_run().await.expect("it is valid")
}

fn uuid(millis: u64, rest: u128) -> Uuid {
    Uuid::from_u128(u128::from(millis) << 80 | 7 << 76 | rest)
}

fn number(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("it is valid")
}

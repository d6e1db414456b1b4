//! Attempts at a topic.

use bytes::Bytes;
use serde_json::{Value, json};
use stagger::{Instant, Span};
use stagger_scheduler::model::*;
use stagger_sender::{Received, Sender, Verifier, secret_text};
use uuid::Uuid;

use crate::cluster::KafkaCluster;
use crate::shared::{message, sender};

pub(crate) fn endpoint(url: &str, topic: &str, change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let kafka = KafkaDestination { topic: topic.to_owned(), key: None, sasl: None };
    let mut endpoint = Endpoint {
        destination: Some(EndpointDestination::Kafka(kafka)),
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

fn keyed(key: &str) -> impl FnOnce(&mut Endpoint) {
    move |endpoint| {
        if let Some(EndpointDestination::Kafka(kafka)) = &mut endpoint.destination {
            kafka.key = Some(key.to_owned());
        }
    }
}

#[tokio::test]
async fn another_client_reads_a_message_with_its_key_and_headers_from_the_partition_of_java() {
    let Some(mut cluster) = KafkaCluster::start(3).await else { return };
    cluster.topic("events.invoice.paid", 10).await;
    let sender = sender(true);
    let to = endpoint(&cluster.url(), "events.{event.type}", keyed("foobar"));
    sender.check(&to).expect("it can be saved");
    let answer = send(&sender, &to, "{\"a\":1}").await;
    assert_eq!((answer.result, answer.written), (Ok(200), true), "{answer:?}");
    let reply: Value = serde_json::from_slice(&answer.reply).expect("JSON");
    // The partition that the clients in Java have for this key.
    assert_eq!(reply, json!({"topic": "events.invoice.paid", "partition": 6, "offset": 0}));

    let found = cluster.consume("events.invoice.paid").await;
    assert_eq!(found.len(), 1, "{found:?}");
    let (found, headers) = (&found[0], &found[0]["headers"]);
    assert_eq!((&found["partition"], &found["key"]), (&json!(6), &json!("foobar")));
    assert_eq!(
        (&found["value"], &headers["stagger-event-type"]),
        (&json!("{\"a\":1}"), &json!("invoice.paid"))
    );
    assert_eq!(
        (&headers["content-type"], &headers["stagger-attempt"]),
        (&json!("application/json"), &json!("1"))
    );
    let header = |name: &str| headers[name].as_str().expect("a text").to_owned();
    let (id, timestamp, signature) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
    assert_eq!(id, message(7).id.to_string());
    let key = secret_text(&to.secrets[0]);
    let verifier = Verifier::parse([key.as_str()]).expect("a key");
    let received =
        Received { id: &id, timestamp: &timestamp, signature: &signature, body: b"{\"a\":1}" };
    let seconds: u64 = timestamp.parse().expect("seconds");
    verifier
        .verify(&received, Instant::ORIGIN + Span::from_secs(seconds), Span::from_secs(1))
        .expect("it is signed");
    let stored = found["timestamp"].as_u64().expect("milliseconds");
    assert!(stored / 1000 >= seconds - 1 && stored / 1000 <= seconds + 1, "{stored} {seconds}");
}

#[tokio::test]
async fn messages_without_a_key_go_to_the_partitions_in_turn_and_those_of_one_key_to_one() {
    let Some(mut cluster) = KafkaCluster::start(3).await else { return };
    cluster.topic("plain", 3).await;
    cluster.topic("keyed", 3).await;
    let sender = sender(true);
    for (topic, key) in [("plain", None), ("keyed", Some("{message.id}"))] {
        let to = endpoint(&cluster.url(), topic, |it| {
            if let Some(key) = key {
                keyed(key)(it);
            }
        });
        let target = sender.prepare(&to);
        for _ in 0..6 {
            let answer = sender.send_to(&target, &message(7), Bytes::from_static(b"1"), 1).await;
            assert_eq!(answer.result, Ok(200), "{answer:?}");
        }
        let found = cluster.consume(topic).await;
        let mut partitions: Vec<_> =
            found.iter().filter_map(|it| it["partition"].as_u64()).collect();
        partitions.sort_unstable();
        match key {
            None => assert_eq!(partitions, [0, 0, 1, 1, 2, 2]),
            Some(_) => {
                partitions.dedup();
                assert_eq!((partitions.len(), found.len()), (1, 6));
                assert_eq!(found[0]["key"], message(7).id.to_string());
            }
        }
    }
}

#[tokio::test]
async fn a_leader_that_has_moved_is_found_in_the_same_attempt() {
    let Some(mut cluster) = KafkaCluster::start(3).await else { return };
    cluster.topic("events", 1).await;
    let lead = |broker: u32| json!({"topic": "events", "partition": 0, "broker": broker});
    cluster.run("leader", lead(2)).await;
    let sender = sender(true);
    let target = sender.prepare(&endpoint(&cluster.url(), "events", |_| {}));
    let attempt = async || sender.send_to(&target, &message(7), Bytes::from_static(b"1"), 1).await;
    assert_eq!(attempt().await.result, Ok(200));
    cluster.run("leader", lead(3)).await;
    let moved = attempt().await;
    assert_eq!(moved.result, Ok(200), "{moved:?}");
    // The broker that led is down: the attempt fails, and the next one has asked for the new leader.
    cluster.run("down", json!({"broker": 3})).await;
    let down = attempt().await;
    assert!(
        matches!(down.result, Err(AttemptFailure::Connect | AttemptFailure::Transport)),
        "{down:?}"
    );
    cluster.run("leader", lead(1)).await;
    assert_eq!(attempt().await.result, Ok(200));
    assert_eq!(cluster.consume("events").await.len(), 3);
}

#[tokio::test]
async fn a_broker_that_is_down_is_a_failure_to_connect_until_it_is_back() {
    let Some(mut cluster) = KafkaCluster::start(1).await else { return };
    cluster.topic("events", 1).await;
    let sender = sender(true);
    let target = sender.prepare(&endpoint(&cluster.url(), "events", |_| {}));
    let attempt = async || sender.send_to(&target, &message(7), Bytes::from_static(b"1"), 1).await;
    assert_eq!(attempt().await.result, Ok(200));
    cluster.run("down", json!({"broker": 1})).await;
    let down = attempt().await;
    assert_eq!((down.result, down.written), (Err(AttemptFailure::Connect), false), "{down:?}");
    cluster.run("up", json!({"broker": 1})).await;
    assert_eq!(attempt().await.result, Ok(200));
}

#[tokio::test]
async fn the_broker_of_the_url_may_be_down_while_another_one_is_known() {
    let Some(mut cluster) = KafkaCluster::start(2).await else { return };
    cluster.topic("events", 1).await;
    cluster.run("leader", json!({"topic": "events", "partition": 0, "broker": 2})).await;
    let sender = sender(true);
    let target = sender.prepare(&endpoint(&cluster.url(), "events", |_| {}));
    let attempt = async || sender.send_to(&target, &message(7), Bytes::from_static(b"1"), 1).await;
    assert_eq!(attempt().await.result, Ok(200));
    cluster.run("down", json!({"broker": 1})).await;
    // NOT_LEADER_OR_FOLLOWER: the leader is asked for again.
    cluster.run("errors", json!({"api": PRODUCE, "errors": [6]})).await;
    let answer = attempt().await;
    assert_eq!(answer.result, Ok(200), "{answer:?}");
}

/// Numbers of requests and errors in the reference.
const PRODUCE: i16 = 0;

#[tokio::test]
async fn a_message_that_the_broker_can_never_take_is_permanent_and_one_that_it_cannot_take_now_is_not()
 {
    let Some(mut cluster) = KafkaCluster::start(1).await else { return };
    cluster.topic("events", 1).await;
    let (sender, to) = (sender(true), endpoint(&cluster.url(), "events", |_| {}));
    // MESSAGE_TOO_LARGE, INVALID_RECORD, TOPIC_AUTHORIZATION_FAILED, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT.
    for (error, result) in [
        (10, Err(AttemptFailure::Unbuildable)),
        (87, Ok(400)),
        (29, Ok(403)),
        (19, Ok(503)),
        (7, Ok(504)),
    ] {
        cluster.run("errors", json!({"api": PRODUCE, "errors": [error]})).await;
        let answer = send(&sender, &to, "1").await;
        assert_eq!(answer.result, result, "{error}: {answer:?}");
        let detail = answer.detail.expect("it says why");
        assert!(detail.ends_with(&format!("({error}) for events-0")), "{detail}");
    }
    // LEADER_NOT_AVAILABLE and NOT_LEADER_OR_FOLLOWER pass, unless they go on.
    cluster.run("errors", json!({"api": PRODUCE, "errors": [5, 6]})).await;
    assert_eq!(send(&sender, &to, "1").await.result, Ok(200));
    cluster.run("errors", json!({"api": PRODUCE, "errors": [6, 6, 6, 6]})).await;
    assert_eq!(send(&sender, &to, "1").await.result, Ok(503));
    cluster.run("topic_error", json!({"topic": "events", "error": 3})).await;
    let unknown = send(&sender, &to, "1").await;
    assert_eq!(unknown.result, Ok(404), "{unknown:?}");
    assert_eq!(unknown.detail.as_deref(), Some("UNKNOWN_TOPIC_OR_PARTITION (3) for events"));
    cluster.run("topic_error", json!({"topic": "events", "error": 29})).await;
    assert_eq!(send(&sender, &to, "1").await.result, Ok(403));
}

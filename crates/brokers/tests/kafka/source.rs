//! A member of a consumer group.

use serde_json::{Value, json};
use stagger::Span;
use stagger_brokers::{
    BrokerMessage, Disposition, KafkaSource, KafkaSourceSettings, KafkaStart, Source,
};

use tokio::sync::{mpsc, oneshot};

use crate::cluster::KafkaCluster;
use crate::shared::sender;

fn settings(cluster: &KafkaCluster) -> KafkaSourceSettings {
    KafkaSourceSettings {
        url: cluster.url(),
        topic: "orders".into(),
        group: "stagger".into(),
        start: KafkaStart::Earliest,
        // The brokers of librdkafka wait for most of it whenever a group changes.
        session: Span::from_secs(4),
        dead_letter: Some("dead".into()),
        sasl: None,
        auth: None,
    }
}

fn source(cluster: &KafkaCluster) -> KafkaSource {
    KafkaSource::new(sender(true).network().clone(), settings(cluster)).expect("valid")
}

/// A cluster whose topic has these messages, with a topic for dead letters.
async fn filled(partitions: u32, messages: Value) -> Option<KafkaCluster> {
    let mut cluster = KafkaCluster::start(3).await?;
    cluster.topic("orders", partitions).await;
    cluster.topic("dead", 1).await;
    publish(&mut cluster, messages).await;
    Some(cluster)
}

async fn publish(cluster: &mut KafkaCluster, messages: Value) {
    let left = cluster.run("produce", json!({"topic": "orders", "messages": messages})).await;
    assert_eq!(left, 0, "all are published");
}

async fn committed(cluster: &mut KafkaCluster) -> Vec<i64> {
    let all = cluster.run("committed", json!({"topic": "orders", "group": "stagger"})).await;
    serde_json::from_value(all).expect("offsets")
}

/// The offset of a partition of which nothing is committed, as librdkafka says it.
const NONE: i64 = -1001;

/// Receives until this many messages have come, none of which is settled.
async fn receive(source: &mut KafkaSource, count: usize) -> Vec<BrokerMessage> {
    let mut found = source.receive().await.expect("the cluster answers");
    for _ in 0..10 {
        if !found.is_empty() {
            break;
        }
        found = source.receive().await.expect("the cluster answers");
    }
    assert_eq!(found.len(), count, "{found:?}");
    found
}

/// Receives and accepts until this many messages have come.
async fn accept(source: &mut KafkaSource, count: usize) -> Vec<BrokerMessage> {
    let mut found = Vec::new();
    for _ in 0..10 {
        for arrival in source.receive().await.expect("the cluster answers") {
            settle(source, &arrival, Disposition::Accepted).await;
            found.push(arrival);
        }
        if found.len() >= count {
            break;
        }
    }
    assert_eq!(found.len(), count, "{found:?}");
    found
}

fn ids(arrivals: &[BrokerMessage]) -> Vec<&str> {
    arrivals.iter().map(|it| it.id.as_str()).collect()
}

async fn settle(source: &mut KafkaSource, arrival: &BrokerMessage, fate: Disposition) {
    source.settle(arrival.ack_id.clone(), fate).await.expect("the cluster answers");
}

fn poison(arrival: &BrokerMessage) -> Disposition {
    Disposition::Poison("it is not\nJSON".into(), Box::new(arrival.clone()))
}

fn three() -> Value {
    json!([
        {"value": "{\"n\":1}", "key": "a", "headers": {"stagger-event-type": "order.new"}},
        {"value": "{\"n\":2}", "headers": {"webhook-id": "msg_2"}},
        {"value": "{\"n\":3}"},
    ])
}

#[tokio::test]
async fn an_offset_is_committed_after_its_messages_are_accepted_and_a_restart_loses_none() {
    let Some(mut cluster) = filled(1, three()).await else { return };
    let mut first = source(&cluster);
    let arrivals = receive(&mut first, 3).await;
    assert_eq!(ids(&arrivals), ["orders-0-0", "msg_2", "orders-0-2"]);
    assert_eq!(arrivals[0].header("Stagger-Event-Type"), Some("order.new"));
    assert_eq!(&arrivals[0].payload[..], b"{\"n\":1}");
    settle(&mut first, &arrivals[1], Disposition::Accepted).await;
    settle(&mut first, &arrivals[2], Disposition::Accepted).await;
    assert_eq!(committed(&mut cluster).await, [NONE], "the first one is not accepted");
    // The node dies here, and another one takes over.
    first.close().await;
    drop(first);
    let mut second = source(&cluster);
    let arrivals = receive(&mut second, 3).await;
    assert_eq!(ids(&arrivals), ["orders-0-0", "msg_2", "orders-0-2"]);
    for arrival in &arrivals {
        settle(&mut second, arrival, Disposition::Accepted).await;
    }
    assert_eq!(committed(&mut cluster).await, [3]);
    second.close().await;
    publish(&mut cluster, json!([{"value": "{\"n\":4}"}])).await;
    let mut third = source(&cluster);
    assert_eq!(ids(&receive(&mut third, 1).await), ["orders-0-3"]);
}

#[tokio::test]
async fn a_message_that_was_put_off_comes_again_and_holds_the_commit_back() {
    let Some(mut cluster) = filled(1, three()).await else { return };
    let mut source = source(&cluster);
    let arrivals = receive(&mut source, 3).await;
    settle(&mut source, &arrivals[0], Disposition::Accepted).await;
    settle(&mut source, &arrivals[1], Disposition::Later).await;
    settle(&mut source, &arrivals[2], Disposition::Accepted).await;
    assert_eq!(committed(&mut cluster).await, [1]);
    let again = receive(&mut source, 2).await;
    assert_eq!(ids(&again), ["msg_2", "orders-0-2"]);
    // A message that is never settled comes again too.
    settle(&mut source, &again[1], Disposition::Accepted).await;
    let again = receive(&mut source, 2).await;
    for arrival in &again {
        settle(&mut source, arrival, Disposition::Accepted).await;
    }
    assert_eq!(committed(&mut cluster).await, [3]);
}

#[tokio::test]
async fn a_poison_message_is_in_the_dead_letters_with_its_reason_and_comes_no_more() {
    let Some(mut cluster) = filled(1, three()).await else { return };
    let mut source = source(&cluster);
    let arrivals = receive(&mut source, 3).await;
    settle(&mut source, &arrivals[0], poison(&arrivals[0])).await;
    for arrival in &arrivals[1..] {
        settle(&mut source, arrival, Disposition::Accepted).await;
    }
    assert_eq!(committed(&mut cluster).await, [3]);
    let dead = cluster.consume("dead").await;
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert_eq!((&dead[0]["value"], &dead[0]["key"]), (&json!("{\"n\":1}"), &json!("a")));
    let headers = json!({
        "stagger-event-type": "order.new", "stagger-refused": "it is not JSON", "stagger-source-id": "orders-0-0",
    });
    assert_eq!(dead[0]["headers"], headers);
}

#[tokio::test]
async fn a_poison_message_stays_when_nothing_takes_the_dead_letters() {
    let Some(mut cluster) = filled(1, three()).await else { return };
    cluster.run("topic_error", json!({"topic": "dead", "error": 29})).await;
    let mut source = source(&cluster);
    let arrivals = receive(&mut source, 3).await;
    for arrival in &arrivals[1..] {
        settle(&mut source, arrival, Disposition::Accepted).await;
    }
    let failed = source.settle(arrivals[0].ack_id.clone(), poison(&arrivals[0])).await;
    let failed = failed.expect_err("nobody may write there").to_string();
    assert_eq!(failed, "403: TOPIC_AUTHORIZATION_FAILED (29) for dead");
    assert_eq!(committed(&mut cluster).await, [NONE]);
}

/// Consumes until it is stopped, and tells which messages it has accepted.
fn consume(
    name: &'static str,
    mut source: KafkaSource,
    told: mpsc::UnboundedSender<(&'static str, String)>,
) -> oneshot::Sender<()> {
    let (stop, mut stopped) = oneshot::channel();
    tokio::spawn(async move {
        loop {
            let received = tokio::select! {
                biased;
                _ = &mut stopped => break,
                received = source.receive() => received,
            };
            // While the group changes a member may be put out; its messages come again.
            for arrival in received.unwrap_or_default() {
                if source.settle(arrival.ack_id.clone(), Disposition::Accepted).await.is_ok() {
                    _ = told.send((name, arrival.id));
                }
            }
        }
        source.close().await;
    });
    stop
}

/// Publishes a message to each of four partitions, and waits until all were accepted; by whom, by partition.
async fn round(
    cluster: &mut KafkaCluster,
    number: usize,
    told: &mut mpsc::UnboundedReceiver<(&'static str, String)>,
) -> Vec<&'static str> {
    let messages: Vec<_> = (0..4).map(|it| json!({"value": "{}", "partition": it})).collect();
    publish(cluster, json!(messages)).await;
    let mut by = vec![""; 4];
    while by.contains(&"") {
        let accepted = tokio::time::timeout(std::time::Duration::from_secs(60), told.recv()).await;
        let (name, id) = accepted.expect("it comes within a minute").expect("a member runs");
        for (partition, by) in by.iter_mut().enumerate() {
            if id == format!("orders-{partition}-{number}") {
                *by = name;
            }
        }
    }
    by
}

#[tokio::test]
async fn two_members_share_the_partitions_and_one_takes_over_those_of_the_other() {
    let Some(mut cluster) = filled(4, json!([])).await else { return };
    let (tell, mut told) = mpsc::unbounded_channel();
    let first = consume("first", source(&cluster), tell.clone());
    assert_eq!(round(&mut cluster, 0, &mut told).await, ["first"; 4]);
    let _second = consume("second", source(&cluster), tell);
    let mut number = 1;
    let mut until = async |wanted: &dyn Fn(&[&str]) -> bool| {
        for _ in 0..30 {
            let by = round(&mut cluster, number, &mut told).await;
            number += 1;
            if wanted(&by) {
                return;
            }
        }
        panic!("the partitions stay where they are");
    };
    // A range each: which of them is the first one is the broker's to say.
    until(&|by| by[0] == by[1] && by[1] != by[2] && by[2] == by[3]).await;
    first.send(()).expect("it runs");
    until(&|by| by == ["second"; 4]).await;
}

#[tokio::test]
async fn a_member_that_the_group_has_put_out_commits_nothing_and_joins_again() {
    let Some(mut cluster) = filled(1, three()).await else { return };
    let mut source = source(&cluster);
    let arrivals = receive(&mut source, 3).await;
    settle(&mut source, &arrivals[0], Disposition::Accepted).await;
    settle(&mut source, &arrivals[1], Disposition::Accepted).await;
    // ILLEGAL_GENERATION, as a member gets it that was silent for too long.
    const OFFSET_COMMIT: i16 = 8;
    cluster.run("errors", json!({"api": OFFSET_COMMIT, "errors": [22]})).await;
    let failed = source.settle(arrivals[2].ack_id.clone(), Disposition::Accepted).await;
    let failed = failed.expect_err("it is put out").to_string();
    assert!(failed.contains("ILLEGAL_GENERATION (22)"), "{failed}");
    assert_eq!(committed(&mut cluster).await, [NONE]);
    // All come again, each under the id that it had.
    let again = receive(&mut source, 3).await;
    assert_eq!(ids(&again), ids(&arrivals));
    for arrival in &again {
        settle(&mut source, arrival, Disposition::Accepted).await;
    }
    assert_eq!(committed(&mut cluster).await, [3]);
}

#[tokio::test]
async fn another_client_of_the_group_gets_its_share_from_this_leader() {
    let Some(mut cluster) = filled(4, json!([])).await else { return };
    let mut source = source(&cluster);
    assert!(source.receive().await.expect("the cluster answers").is_empty());
    let (tell, mut told) = mpsc::unbounded_channel();
    let _running = consume("ours", source, tell);
    let own = cluster.run("join", json!({"topic": "orders", "group": "stagger"})).await;
    let own: Vec<usize> = serde_json::from_value(own).expect("partitions");
    assert_eq!(own.len(), 2, "{own:?}");
    // The other client reads nothing; this one has the rest.
    let messages: Vec<_> = (0..4).map(|it| json!({"value": "{}", "partition": it})).collect();
    publish(&mut cluster, json!(messages)).await;
    let mut ours = std::collections::BTreeSet::new();
    while ours.len() < 2 {
        let accepted = tokio::time::timeout(std::time::Duration::from_secs(60), told.recv()).await;
        let (_, id) = accepted.expect("it comes within a minute").expect("a member runs");
        ours.insert(id);
    }
    for partition in own {
        assert!(!ours.contains(&format!("orders-{partition}-0")), "{ours:?}");
    }
}

#[tokio::test]
async fn a_leader_or_coordinator_that_has_moved_is_found_and_nothing_is_lost() {
    let Some(mut cluster) = filled(1, three()).await else { return };
    cluster.run("leader", json!({"topic": "orders", "partition": 0, "broker": 2})).await;
    cluster.run("coordinator", json!({"group": "stagger", "broker": 2})).await;
    let mut source = source(&cluster);
    for arrival in receive(&mut source, 3).await {
        settle(&mut source, &arrival, Disposition::Accepted).await;
    }
    cluster.run("leader", json!({"topic": "orders", "partition": 0, "broker": 3})).await;
    cluster.run("coordinator", json!({"group": "stagger", "broker": 3})).await;
    cluster.run("down", json!({"broker": 2})).await;
    publish(&mut cluster, json!([{"value": "{\"n\":4}"}])).await;
    let mut found = Vec::new();
    for _ in 0..10 {
        // A round may say that the broker is away; the next one asks for the new one.
        found.extend(source.receive().await.unwrap_or_default());
        if !found.is_empty() {
            break;
        }
    }
    assert_eq!(ids(&found), ["orders-0-3"]);
    for _ in 0..5 {
        if source.settle(found[0].ack_id.clone(), Disposition::Accepted).await.is_ok() {
            break;
        }
    }
    assert_eq!(committed(&mut cluster).await, [4]);
}

#[tokio::test]
async fn a_group_begins_at_the_end_only_if_it_says_so_and_goes_on_after_what_was_deleted() {
    let Some(mut cluster) = filled(1, three()).await else { return };
    let latest = KafkaSourceSettings {
        start: KafkaStart::Latest,
        group: "late".into(),
        ..settings(&cluster)
    };
    let mut late = KafkaSource::new(sender(true).network().clone(), latest).expect("valid");
    assert!(late.receive().await.expect("the cluster answers").is_empty());
    // The end is committed at once: what comes while the group has no member is not skipped.
    late.close().await;
    publish(&mut cluster, json!([{"value": "{\"n\":4}"}])).await;
    assert_eq!(ids(&receive(&mut late, 1).await), ["orders-0-3"]);

    let mut source = source(&cluster);
    accept(&mut source, 4).await;
    source.close().await;
    publish(&mut cluster, json!([{"value": "{\"n\":5}"}, {"value": "{\"n\":6}"}])).await;
    cluster.run("delete", json!({"topic": "orders", "partition": 0, "before": 5})).await;
    assert_eq!(ids(&receive(&mut source, 1).await), ["orders-0-5"]);
}

#[tokio::test]
async fn batches_are_read_however_their_producer_has_compressed_them() {
    let Some(mut cluster) = filled(1, json!([])).await else { return };
    let value = format!("{{\"text\":\"{}\"}}", "again and ".repeat(2000));
    for compression in ["gzip", "snappy", "lz4", "zstd"] {
        let messages = json!([{"value": value}, {"value": value}]);
        let command = json!({"topic": "orders", "messages": messages, "compression": compression});
        assert_eq!(cluster.run("produce", command).await, 0);
    }
    let mut source = source(&cluster);
    for arrival in accept(&mut source, 8).await {
        assert_eq!(arrival.payload, value);
    }
}

#[tokio::test]
async fn a_topic_that_is_not_there_or_a_cluster_that_is_away_is_named_in_the_failure() {
    let Some(mut cluster) = KafkaCluster::start(1).await else { return };
    cluster.topic("orders", 1).await;
    cluster.run("topic_error", json!({"topic": "orders", "error": 3})).await;
    let failed = source(&cluster).receive().await.expect_err("there is no topic").to_string();
    assert_eq!(failed, "404: UNKNOWN_TOPIC_OR_PARTITION (3) for orders");
    cluster.run("down", json!({"broker": 1})).await;
    let failed = source(&cluster).receive().await.expect_err("it is away").to_string();
    assert!(failed.contains("refused"), "{failed}");
    let private = KafkaSourceSettings { url: "kafka://127.0.0.1".into(), ..settings(&cluster) };
    let private = KafkaSource::new(sender(false).network().clone(), private);
    assert!(private.expect_err("a private address").to_string().contains("globally routable"));
}

//! A whole dispatcher with a source and a destination at a cluster of Kafka. One test in a process, because a process has one
//! set of metrics. Without the folder that `STAGGER_TEST_CLIENTS` names it is skipped with a note.
#![cfg(feature = "kafka")]

use serde_json::json;
use stagger_dispatch::config::{Config, StoreKind};
use stagger_dispatch::server::NodeServer;
use stagger_scheduler::model::*;
use stagger_testkit::server::{Script, TestServer};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::cluster::KafkaCluster;
use crate::shared::{application, endpoint};

#[path = "../../brokers/tests/kafka/cluster.rs"]
mod cluster;
#[path = "shared/mod.rs"]
#[expect(dead_code, reason = "its messages come from a broker")]
mod shared;

#[tokio::test]
async fn messages_of_a_topic_reach_a_webhook_and_another_topic_and_poison_reaches_neither() {
    let Some(mut kafka) = KafkaCluster::start(2).await else { return };
    for topic in ["orders", "out.order.new", "dead"] {
        kafka.topic(topic, 2).await;
    }
    let receiver = TestServer::start(Script::of([])).await;
    let mut config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        store: StoreKind::Memory,
        allow_private: true,
        ..Config::default()
    };
    let source = format!(
        "[[source]]\nname = 'orders'\ntype = 'kafka'\nurl = '{}'\ntopic = 'orders'\ndead_letter = 'dead'\n\
         application = 'uid:shop'\nevent_type = 'order.new'\nsession_timeout = '6s'\n",
        kafka.url()
    );
    publish(&mut kafka, "nonsense").await;
    config.apply_text("dispatcher.toml", &source).expect("valid");
    let dispatcher = NodeServer::start(config).await.expect("it starts");
    let node = dispatcher.node().clone();
    let app = ApplicationId::from_uuid(Uuid::from_u128(1));
    let mut shop = application(app);
    shop.labels.uid = Some("shop".parse().expect("an id"));
    node.put_application(shop).await.expect("it is stored");
    node.put_endpoint(endpoint(app, 1, &receiver.url("/"), 6)).await.expect("it is stored");
    let mut out = endpoint(app, 2, &kafka.url(), 6);
    let (topic, key) = ("out.{event.type}".to_owned(), Some("{message.id}".to_owned()));
    out.destination = Some(EndpointDestination::Kafka(KafkaDestination { topic, key, sasl: None }));
    node.put_endpoint(out).await.expect("it is stored");

    publish(&mut kafka, "{\"n\":2}").await;
    receiver.until_taken(1).await;
    // A broker is down for a while: the source connects again, and the deliveries to it are retried.
    kafka.run("down", json!({"broker": 1})).await;
    kafka.run("up", json!({"broker": 1})).await;
    publish(&mut kafka, "{\"n\":3}").await;
    receiver.until_taken(2).await;
    while kafka.consume("out.order.new").await.len() < 2 {}
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(dispatcher.run(async move { _ = stopped.await }));
    stop.send(()).expect("it waits for that");
    run.await.expect("no panic").expect("it ends well");
    let offsets = kafka.run("committed", json!({"topic": "orders", "group": "stagger"})).await;
    let offsets: Vec<i64> = serde_json::from_value(offsets).expect("offsets");
    let settled: i64 = offsets.into_iter().filter(|it| *it > 0).sum();
    assert_eq!(settled, 3, "all are accepted or dead");
    let dead = kafka.consume("dead").await;
    assert_eq!((dead.len(), &dead[0]["value"]), (1, &json!("nonsense")));
    let out = kafka.consume("out.order.new").await;
    assert!(out.iter().all(|it| it["key"] == it["headers"]["webhook-id"]), "{out:?}");
    assert_eq!((receiver.taken(), out.len()), (2, 2));
}

async fn publish(kafka: &mut KafkaCluster, value: &str) {
    let messages = json!([{ "value": value }]);
    let left = kafka.run("produce", json!({"topic": "orders", "messages": messages})).await;
    assert_eq!(left, 0, "it is published");
}

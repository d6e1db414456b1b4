//! A whole dispatcher with a source and a destination at a real NATS server. One test in a process, because a process has one
//! set of metrics. Without the program `nats-server` it is skipped with a note.
#![cfg(feature = "nats")]

use serde_json::json;
use stagger_dispatch::config::{Config, StoreKind};
use stagger_dispatch::server::NodeServer;
use stagger_scheduler::model::*;
use stagger_testkit::server::{Script, TestServer};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::server::{NatsServer, RawClient};
use crate::shared::{application, endpoint};

#[path = "../../brokers/tests/nats/server.rs"]
#[expect(dead_code, reason = "the tests of the broker itself end it, and read from it")]
mod server;
#[path = "shared/mod.rs"]
#[expect(dead_code, reason = "its messages come from a broker")]
mod shared;

#[tokio::test]
async fn messages_of_a_stream_reach_a_webhook_and_another_stream_and_poison_reaches_neither() {
    let Some(mut nats) = NatsServer::start("").await else { return };
    nats.stream("ORDERS", &["orders.*"], json!({})).await;
    nats.stream("OUT", &["out.>"], json!({})).await;
    nats.stream("DEAD", &["dead.*"], json!({})).await;
    let receiver = TestServer::start(Script::of([])).await;
    let mut config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        store: StoreKind::Memory,
        allow_private: true,
        ..Config::default()
    };
    let source = format!(
        "[[source]]\nname = 'orders'\ntype = 'nats'\nurl = '{}'\nstream = 'ORDERS'\ndead_letter = 'dead.orders'\n\
         application = 'uid:shop'\nevent_type = 'order.new'\n",
        nats.url()
    );
    let mut client = RawClient::connect(nats.port, "").await;
    client.publish("orders.new", "", "nonsense").await;
    config.apply_text("dispatcher.toml", &source).expect("valid");
    let dispatcher = NodeServer::start(config).await.expect("it starts");
    let node = dispatcher.node().clone();
    let app = ApplicationId::from_uuid(Uuid::from_u128(1));
    let mut shop = application(app);
    shop.labels.uid = Some("shop".parse().expect("an id"));
    node.put_application(shop).await.expect("it is stored");
    node.put_endpoint(endpoint(app, 1, &receiver.url("/"), 6)).await.expect("it is stored");
    let mut out = endpoint(app, 2, &nats.url(), 6);
    let (subject, stream) = ("out.{event.type}".to_owned(), None);
    out.destination =
        Some(EndpointDestination::Nats(NatsDestination { subject, jetstream: true, stream }));
    node.put_endpoint(out).await.expect("it is stored");

    client.publish("orders.new", "", "{\"n\":2}").await;
    receiver.until_taken(1).await;
    until(&mut client, "$JS.API.STREAM.INFO.OUT", "/state/messages", 1).await;
    until(&mut client, CONSUMER, "/num_ack_pending", 0).await;
    // The broker is down for a while: the source connects again, and the deliveries to it are retried.
    nats.stop().await;
    nats.restart("").await;
    let mut client = RawClient::connect(nats.port, "").await;
    client.publish("orders.new", "", "{\"n\":3}").await;
    receiver.until_taken(2).await;
    until(&mut client, "$JS.API.STREAM.INFO.OUT", "/state/messages", 2).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(dispatcher.run(async move { _ = stopped.await }));
    stop.send(()).expect("it waits for that");
    run.await.expect("no panic").expect("it ends well");
    until(&mut client, CONSUMER, "/num_ack_pending", 0).await;
    until(&mut client, CONSUMER, "/num_pending", 0).await;
    until(&mut client, "$JS.API.STREAM.INFO.DEAD", "/state/messages", 1).await;
    assert_eq!(receiver.taken(), 2);
}

const CONSUMER: &str = "$JS.API.CONSUMER.INFO.ORDERS.stagger";

/// Asks the server until a number of its answer is this one.
async fn until(client: &mut RawClient, subject: &str, pointer: &str, number: u64) {
    while client.request(subject, "").await.pointer(pointer) != Some(&json!(number)) {
        tokio::task::yield_now().await;
    }
}

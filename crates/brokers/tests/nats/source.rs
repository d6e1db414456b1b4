//! A consumer of JetStream.

use serde_json::json;
use stagger_brokers::{BrokerMessage, Disposition, NatsSource, NatsSourceSettings, Source};

use crate::server::{NatsServer, RawClient};
use crate::shared::sender;

fn source(server: &NatsServer) -> NatsSource {
    let settings = NatsSourceSettings {
        url: server.url(),
        stream: "ORDERS".into(),
        consumer: "stagger".into(),
        subject: Some("orders.*".into()),
        dead_letter: Some("dead.orders".into()),
        auth: None,
    };
    NatsSource::new(sender(true).network().clone(), settings).expect("valid")
}

async fn filled() -> Option<(NatsServer, RawClient)> {
    let server = NatsServer::start("").await?;
    server.stream("ORDERS", &["orders.*"], json!({})).await;
    server.stream("DEAD", &["dead.*"], json!({})).await;
    let mut client = RawClient::connect(server.port, "").await;
    client
        .publish(
            "orders.new",
            "Nats-Msg-Id: order-1\r\nstagger-event-type: order.new\r\n",
            "{\"n\":1}",
        )
        .await;
    client.publish("orders.new", "", "{\"n\":2}").await;
    Some((server, client))
}

async fn pending(client: &mut RawClient) -> (u64, u64) {
    let info = client.request("$JS.API.CONSUMER.INFO.ORDERS.stagger", "").await;
    let number = |name: &str| info[name].as_u64().unwrap_or_else(|| panic!("{info}"));
    (number("num_ack_pending"), number("num_pending"))
}

fn poison(arrival: &BrokerMessage) -> Disposition {
    Disposition::Poison("it is not JSON".into(), Box::new(arrival.clone()))
}

#[tokio::test]
async fn messages_are_the_servers_until_they_are_accepted() {
    let Some((server, mut client)) = filled().await else { return };
    let mut first = source(&server);
    let arrivals = first.receive().await.expect("the server answers");
    let ids: Vec<_> = arrivals.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["order-1", "ORDERS:2"]);
    assert_eq!(arrivals[0].header("Stagger-Event-Type"), Some("order.new"));
    assert_eq!(&arrivals[0].payload[..], b"{\"n\":1}");
    assert_eq!(pending(&mut client).await, (2, 0));
    first.settle(arrivals[0].ack_id.clone(), Disposition::Accepted).await.expect("it answers");
    assert_eq!(pending(&mut client).await, (1, 0));
    first.settle(arrivals[1].ack_id.clone(), Disposition::Later).await.expect("it answers");
    let again = first.receive().await.expect("the server answers");
    // It comes again after a pause of 5 s, which is as long as a round.
    let again = if again.is_empty() { first.receive().await.expect("it answers") } else { again };
    assert_eq!(again.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["ORDERS:2"]);
    first.settle(again[0].ack_id.clone(), Disposition::Accepted).await.expect("it answers");
    assert_eq!(pending(&mut client).await, (0, 0));
}

#[tokio::test]
async fn a_poison_message_is_in_the_dead_letters_with_its_reason_and_comes_no_more() {
    let Some((server, mut client)) = filled().await else { return };
    let mut source = source(&server);
    let arrivals = source.receive().await.expect("the server answers");
    source.settle(arrivals[0].ack_id.clone(), poison(&arrivals[0])).await.expect("it answers");
    source.settle(arrivals[1].ack_id.clone(), Disposition::Accepted).await.expect("it answers");
    assert_eq!(pending(&mut client).await, (0, 0));
    let mut consumer = NatsSource::new(
        sender(true).network().clone(),
        NatsSourceSettings {
            url: server.url(),
            stream: "DEAD".into(),
            consumer: "reader".into(),
            subject: None,
            dead_letter: None,
            auth: None,
        },
    )
    .expect("valid");
    let dead = consumer.receive().await.expect("the server answers");
    assert_eq!(dead.len(), 1);
    assert_eq!(&dead[0].payload[..], b"{\"n\":1}");
    assert_eq!(dead[0].header("stagger-refused"), Some("it is not JSON"));
    assert_eq!(dead[0].header("stagger-source-id"), Some("order-1"));
}

#[tokio::test]
async fn a_poison_message_stays_when_nothing_takes_the_dead_letters() {
    let Some(server) = NatsServer::start("").await else { return };
    server.stream("ORDERS", &["orders.*"], json!({})).await;
    let mut client = RawClient::connect(server.port, "").await;
    client.publish("orders.new", "", "x").await;
    let mut source = source(&server);
    let arrivals = source.receive().await.expect("the server answers");
    let failed = source.settle(arrivals[0].ack_id.clone(), poison(&arrivals[0])).await;
    let failed = failed.expect_err("no stream takes it").to_string();
    assert!(failed.contains("dead.orders"), "{failed}");
    assert_eq!(pending(&mut client).await, (1, 0));
}

#[tokio::test]
async fn a_server_that_is_away_is_a_failure_and_nothing_is_lost() {
    let Some((mut server, _)) = filled().await else { return };
    let mut source = source(&server);
    let arrivals = source.receive().await.expect("the server answers");
    assert_eq!(arrivals.len(), 2);
    source.settle(arrivals[0].ack_id.clone(), Disposition::Accepted).await.expect("it answers");
    server.kill().await;
    source.settle(arrivals[1].ack_id.clone(), Disposition::Accepted).await.expect_err("it is away");
    source.receive().await.expect_err("it is away");
    server.restart("").await;
    let mut client = RawClient::connect(server.port, "").await;
    client.publish("orders.new", "", "{\"n\":3}").await;
    let ids: Vec<_> =
        source.receive().await.expect("it is back").into_iter().map(|it| it.id).collect();
    assert!(ids.iter().any(|id| id == "ORDERS:3"), "{ids:?}");
    // A server that is killed may forget what it has sent, and the acknowledgement; the id of the message tells that it is the same.
    let (unsettled, new) = pending(&mut client).await;
    assert!((2..=3).contains(&unsettled) && new == 0, "{unsettled} unsettled, {new} new");
}

#[tokio::test]
async fn a_stream_that_is_not_there_is_named_in_the_failure() {
    let Some(server) = NatsServer::start("").await else { return };
    let failed = source(&server).receive().await.expect_err("there is no stream").to_string();
    assert!(failed.contains("stream not found"), "{failed}");
}

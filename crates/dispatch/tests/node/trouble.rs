//! Crashes, restarts, and a store that fails.

use std::collections::BTreeMap;

use stagger::Span;
use stagger_dispatch::node::{Node, NodeOptions};
use stagger_scheduler::model::*;
use stagger_store::DeliveryStore;
use stagger_testkit::server::{Reaction, Script, TestServer};
use uuid::Uuid;

use crate::fixture::{Fixture, application, endpoint, sender, start, submission};

#[tokio::test]
async fn a_crash_in_mid_flight_loses_nothing_and_repeats_under_the_same_ids() {
    let fixture = Fixture::new().await;
    let hang = [Reaction::hang(), Reaction::hang(), Reaction::hang()];
    let server = TestServer::start(Script::of(hang)).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let sent = fixture.send(["1", "2", "3"]).await;
    server.until_taken(3).await;
    let fixture = fixture.crash().await;
    fixture.store.until_settled(DeliveryState::Delivered, 3).await;

    let mut times = BTreeMap::new();
    for seen in server.seen() {
        let id = seen.headers["webhook-id"].to_str().unwrap().to_owned();
        *times.entry(id).or_insert(0) += 1;
    }
    let twice = sent.iter().map(|id| (id.to_string(), 2)).collect();
    assert_eq!(times, twice);
}

#[tokio::test]
async fn attempts_cut_off_by_a_shutdown_count_as_not_made() {
    let fixture = Fixture::new().await;
    let script = Script::of([]).on_path("/hang", Script::always(Reaction::hang()));
    let server = TestServer::start(script).await;
    let hanging = fixture.endpoint(1, &server.url("/hang"), |_| {}).await;
    let sent = fixture.send(["1"]).await[0];
    server.until_taken(1).await;
    fixture.node.shutdown(Span::ZERO).await;

    let delivery = fixture.delivery(sent, hanging).await;
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 0));
    assert!(fixture.store.attempts(sent, hanging).await.unwrap().is_empty());
    assert!(fixture.try_send(["2"]).await.is_err_and(|error| error.is_unavailable()));
    assert!(fixture.node.ready().await.is_err());
    fixture.node.shutdown(Span::ZERO).await;
}

#[tokio::test]
async fn a_shutdown_waits_for_what_is_under_way_and_stores_it() {
    let fixture = Fixture::new().await;
    let (go, wait) = tokio::sync::oneshot::channel();
    let receiver = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", receiver.local_addr().unwrap());
    let to = fixture.endpoint(1, &url, |_| {}).await;
    let sent = fixture.send(["1"]).await[0];
    let (mut socket, _) = receiver.accept().await.unwrap();
    let answer = tokio::spawn(async move {
        wait.await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut socket, b"HTTP/1.1 204 No Content\r\n\r\n").await
    });
    let node = fixture.node.clone();
    let end = tokio::spawn(async move { node.shutdown(Span::from_secs(60)).await });
    while fixture.node.ready().await.is_ok() {
        tokio::task::yield_now().await;
    }
    go.send(()).unwrap();
    end.await.unwrap();
    answer.await.unwrap().unwrap();
    assert_eq!(fixture.delivery(sent, to).await.state, DeliveryState::Delivered);
}

#[tokio::test]
async fn settlements_refused_by_a_full_disk_are_stored_once_there_is_room() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    let to = fixture.endpoint(1, &server.url("/"), |_| {}).await;
    fixture.node.disable(to).await.unwrap();
    fixture.send(["1", "2", "3"]).await;
    let enabled = fixture.node.enable(to);
    enabled.await.unwrap();
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
    fixture.store.fail(true);
    // The second failure comes after the first has been noted.
    fixture.store.until(|log| log.failures >= 2).await;
    assert!(fixture.try_send(["4"]).await.is_err_and(|error| error.is_unavailable()));
    assert!(fixture.node.ready().await.is_err_and(|error| error.is_unavailable()));

    fixture.store.fail(false);
    fixture.store.until_settled(DeliveryState::Delivered, 3).await;
    while fixture.node.ready().await.is_err() {
        tokio::task::yield_now().await;
    }
    fixture.send(["4"]).await;
    fixture.store.until_settled(DeliveryState::Delivered, 4).await;
    assert_eq!(server.taken(), 4);
}

/// Small writes passed for long, so that readiness said yes while every message was refused.
#[tokio::test]
async fn a_full_disk_that_refused_messages_left_the_node_ready() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    fixture.store.fill(true);
    assert!(fixture.node.ready().await.is_ok(), "no message was refused yet");
    assert!(fixture.try_send(["1"]).await.is_err_and(|error| error.is_store_failure()));
    for _ in 0..2 {
        let error = fixture.node.ready().await.expect_err("it is full").to_string();
        assert!(error.contains("database or disk is full"), "{error}");
    }
    fixture.store.fill(false);
    assert!(fixture.node.ready().await.is_ok());
    fixture.send(["2"]).await;
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
}

#[tokio::test]
async fn a_run_that_lost_the_store_to_another_ends() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let newer = start(fixture.store.clone()).await;
    fixture.send(["1"]).await;
    assert!(fixture.node.ended().await.contains("another run"));
    assert!(fixture.try_send(["2"]).await.is_err_and(|error| error.is_unavailable()));
    assert!(newer.ready().await.is_ok());
}

#[tokio::test]
async fn more_open_deliveries_than_there_is_room_for_are_refused() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let options = NodeOptions { max_open: 2, ..NodeOptions::default() };
    let node = Node::start(fixture.store.clone(), sender(), options).await.unwrap();
    let three = ["1", "2", "3"].map(submission).to_vec();
    assert!(node.accept(fixture.app, three).await.is_err_and(|error| error.is_unavailable()));
    let two = ["1", "2"].map(submission).to_vec();
    assert!(node.accept(fixture.app, two).await.is_ok());
    server.until_taken(2).await;
    assert!(node.ready().await.is_err_and(|error| error.is_unavailable()));
}

#[tokio::test]
async fn a_payload_beyond_the_memory_is_read_back_whole() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let options = NodeOptions { payload_memory: 0, ..NodeOptions::default() };
    let node = Node::start(fixture.store.clone(), sender(), options).await.unwrap();
    node.accept(fixture.app, vec![submission(r#"{"a":"\u00e9"}"#)]).await.unwrap();
    server.until_taken(1).await;
    assert_eq!(server.seen()[0].body, r#"{"a":"\u00e9"}"#);
}

#[tokio::test]
async fn one_application_filled_the_node_for_all_others() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let options = NodeOptions { max_open: 8, ..NodeOptions::default() };
    let node = Node::start(fixture.store.clone(), sender(), options).await.unwrap();
    node.accept(fixture.app, ["1", "2"].map(submission).to_vec()).await.unwrap();
    server.until_taken(2).await;
    let refused = node.accept(fixture.app, vec![submission("3")]).await.unwrap_err();
    assert!(refused.is_over_share(), "{refused}");
    assert!(node.ready().await.is_ok(), "others have room");
    let other = ApplicationId::from_uuid(Uuid::from_u128(2));
    node.put_application(application(other)).await.unwrap();
    node.put_endpoint(endpoint(other, 2, &server.url("/"))).await.unwrap();
    assert!(node.accept(other, vec![submission("1")]).await.is_ok());
}

#[tokio::test]
async fn an_endpoint_that_is_gone_collected_deliveries_for_ever() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::always(Reaction::status(410))).await;
    let gone = fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let by_hand = fixture.endpoint(2, &server.url("/"), |_| {}).await;
    fixture.node.disable(by_hand).await.unwrap();
    let [first] = fixture.send(["1"]).await[..] else { panic!("one message") };
    let is_disabled = async || {
        let view = fixture.node.view(gone).await.expect("it is there");
        view.endpoint_state.disabled.is_some()
    };
    while !is_disabled().await {
        tokio::task::yield_now().await;
    }
    let [second] = fixture.send(["2"]).await[..] else { panic!("one message") };
    assert!(fixture.delivery(first, gone).await.state.is_open(), "it goes on when enabled");
    assert_eq!(fixture.store.delivery(second, gone).await.unwrap(), None);
    assert!(fixture.delivery(second, by_hand).await.state.is_open());
    fixture.node.enable(gone).await.unwrap();
    let [third] = fixture.send(["3"]).await[..] else { panic!("one message") };
    assert!(fixture.store.delivery(third, gone).await.unwrap().is_some());
}

#[tokio::test]
async fn a_giant_batch_was_one_transaction_for_which_all_others_waited() {
    let fixture = Fixture::new().await;
    for n in 1..=100 {
        let endpoint = fixture.endpoint(n, "http://127.0.0.1:1/", |_| {}).await;
        fixture.node.disable(endpoint).await.unwrap();
    }
    let batch = (0..50).map(|n| submission(&n.to_string())).collect();
    let accepted = fixture.node.accept(fixture.app, batch).await.unwrap();
    assert_eq!(accepted.len(), 50);
    let largest = fixture.store.largest_accept();
    assert!((1..=20).contains(&largest), "{largest} messages of 100 deliveries at once");
    for accepted in accepted {
        assert_eq!(fixture.store.deliveries_of(accepted.id).await.unwrap().len(), 100);
    }
}

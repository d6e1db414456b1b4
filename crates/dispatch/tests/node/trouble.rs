//! Crashes, restarts, and a store that fails.

use std::collections::BTreeMap;

use stagger::Span;
use stagger_dispatch::model::*;
use stagger_dispatch::node::{Node, NodeOptions};
use stagger_dispatch::store::DeliveryStore;
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::fixture::{Fixture, sender, start, submission};

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

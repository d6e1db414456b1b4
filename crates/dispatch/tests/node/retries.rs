//! Attempts that an operator asks for, and messages that an endpoint had missed.

use std::num::NonZeroU32;

use stagger::{Backoff, Jitter, Policy, Span};
use stagger_scheduler::model::*;
use stagger_store::{DeliveryFilter, MessageFilter};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::fixture::{Fixture, submission};

/// One attempt at a time; five failures open the breaker; a failed delivery waits for an hour.
fn patient(endpoint: &mut Endpoint) {
    let hour = Span::from_secs(3_600);
    let backoff = Backoff::exponential(hour, hour).and_then(|it| it.with_jitter(Jitter::None));
    let policy = Policy::webhook().to_builder().backoff(backoff.expect("it fits")).build();
    endpoint.policy = policy.expect("it is valid");
    endpoint.pace.concurrency = NonZeroU32::MIN;
}

#[tokio::test]
async fn a_waiting_delivery_is_attempted_when_asked_for_although_the_breaker_is_open() {
    let fixture = Fixture::new().await;
    let failing = (0..5).map(|_| Reaction::status(500));
    let server = TestServer::start(Script::of(failing)).await;
    let to = fixture.endpoint(1, &server.url("/"), patient).await;
    let sent = fixture.send(["1", "2", "3", "4", "5", "6"]).await;
    fixture.store.until_settled(DeliveryState::Waiting, 5).await;
    let view = fixture.node.view(to).await.expect("it is there");
    assert!(view.endpoint_state.open.is_some());
    let failure = view.endpoint_state.last_failure.expect("it has failed");
    assert_eq!(failure.status, Some(500));

    let retried = fixture.node.retry(sent[3], to).await.unwrap();
    assert_eq!(retried.state, DeliveryState::Waiting);
    let log = fixture.store.until_settled(DeliveryState::Delivered, 1).await;
    let first = log.settled.iter().find(|it| it.state == DeliveryState::Delivered);
    assert_eq!(first.map(|it| it.message), Some(sent[3]));
    let again = fixture.node.retry(sent[3], to).await.unwrap_err();
    assert!(again.is_conflict(), "{again}");

    assert_eq!(fixture.node.retry_many(fixture.app, DeliveryFilter::default()).await.unwrap(), 4);
    fixture.store.until_settled(DeliveryState::Delivered, 6).await;
}

#[tokio::test]
async fn a_disabled_endpoint_is_not_retried_before_it_is_enabled() {
    let fixture = Fixture::new().await;
    let failing = (0..3).map(|_| Reaction::status(500));
    let server = TestServer::start(Script::of(failing)).await;
    let to = fixture.endpoint(1, &server.url("/"), patient).await;
    let sent = fixture.send(["1", "2", "3"]).await;
    fixture.store.until_settled(DeliveryState::Waiting, 3).await;
    fixture.node.disable(to).await.unwrap();
    assert!(fixture.node.retry(sent[0], to).await.unwrap_err().is_conflict());
    let all = DeliveryFilter { endpoint: Some(to), ..DeliveryFilter::default() };
    assert!(fixture.node.retry_many(fixture.app, all).await.unwrap_err().is_conflict());
    // Everything is due in minutes: the one that is due first is the probe.
    fixture.node.enable(to).await.unwrap();
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
}

#[tokio::test]
async fn a_delivery_that_was_made_due_is_due_after_a_crash() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([Reaction::status(500), Reaction::hang()])).await;
    let to = fixture.endpoint(1, &server.url("/"), patient).await;
    let sent = fixture.send(["1"]).await[0];
    fixture.store.until_settled(DeliveryState::Waiting, 1).await;
    fixture.node.retry(sent, to).await.unwrap();
    let stored = fixture.delivery(sent, to).await;
    assert!(stored.due.since(stored.updated_at) < Span::from_secs(10), "{stored:?}");
    let fixture = fixture.crash().await;
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
}

#[tokio::test]
async fn an_endpoint_made_later_gets_the_messages_of_its_types() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    fixture.endpoint(1, &server.url("/first"), |_| {}).await;
    fixture.send(["1", "2"]).await;
    let other = stagger_dispatch::node::Submission {
        event_type: "invoice.void".parse().unwrap(),
        ..submission("3")
    };
    fixture.node.accept(fixture.app, vec![other]).await.unwrap();
    fixture.store.until_settled(DeliveryState::Delivered, 3).await;
    let only = EventFilter::Only(vec!["invoice.paid".parse().unwrap()]);
    let late = fixture.endpoint(2, &server.url("/late"), |it| it.events = only).await;
    assert_eq!(fixture.node.replay_missing(late, MessageFilter::default()).await.unwrap(), 2);
    fixture.store.until_settled(DeliveryState::Delivered, 5).await;
    let seen = server.seen();
    let late_ones: Vec<_> = seen.iter().filter(|it| it.path == "/late").collect();
    assert_eq!(late_ones.len(), 2);
    assert_eq!(fixture.node.replay_missing(late, MessageFilter::default()).await.unwrap(), 0);
}

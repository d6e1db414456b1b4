//! Nodes that share work and budgets.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::breaker::BreakerPlan;
use stagger::{Backoff, Jitter, Policy, Ratio, Span};
use stagger_dispatch::node::{Node, NodeOptions, SharedBudgets};
use stagger_scheduler::model::*;
use stagger_sender::{SendOptions, Sender};
use stagger_store::{DeliveryFilter, MemoryStore, ReplayRequest};
use stagger_testkit::server::{Reaction, Script, TestServer};
use uuid::Uuid;

use crate::fleet::{Fleet, application, endpoint, id, submission, until};

#[tokio::test]
async fn every_delivery_is_made_once_whichever_node_accepts_it() {
    let fleet = Fleet::of(3, Script::of([])).await;
    fleet.endpoints(20).await;
    for n in 0..15 {
        fleet.send(&fleet.nodes[n % 3], &n.to_string()).await;
    }
    fleet.until_count(DeliveryState::Delivered, 300).await;
    let received = fleet.received();
    assert_eq!(received.len(), 300);
    assert_eq!(received.iter().collect::<BTreeSet<_>>().len(), 300);
}

#[tokio::test]
async fn a_change_made_on_one_node_is_known_to_all_when_it_answers() {
    let fleet = Fleet::of(3, Script::of([])).await;
    let app = ApplicationId::from_uuid(Uuid::from_u128(2));
    fleet.nodes[0].put_application(application(app)).await.unwrap();
    fleet.nodes[1].put_endpoint(endpoint(app, 1, &fleet.server.url("/first"))).await.unwrap();
    let fleet = Fleet { app, ..fleet };
    fleet.send(&fleet.nodes[2], "1").await;
    fleet.until_count(DeliveryState::Delivered, 1).await;
    fleet.nodes[2].put_endpoint(endpoint(app, 2, &fleet.server.url("/second"))).await.unwrap();
    fleet.send(&fleet.nodes[0], "2").await;
    fleet.until_count(DeliveryState::Delivered, 3).await;
    fleet.nodes[0].delete_endpoint(id(1)).await.unwrap();
    fleet.send(&fleet.nodes[1], "3").await;
    fleet.until_count(DeliveryState::Delivered, 4).await;
    let paths: Vec<_> = fleet.received().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/first", "/first", "/second", "/second"]);
    fleet.nodes[1].delete_application(app).await.unwrap();
    fleet.nodes[2].sync_settings().await.unwrap();
    assert_eq!(fleet.nodes[2].application(app), None);
    assert!(fleet.nodes[2].endpoints(app).is_empty());
}

#[tokio::test]
async fn an_endpoint_is_disabled_and_enabled_by_way_of_any_node() {
    let fleet = Fleet::of(3, Script::of([])).await;
    fleet.endpoints(1).await;
    fleet.other(1).disable(id(1)).await.unwrap();
    for node in &fleet.nodes {
        let view = node.view(id(1)).await.unwrap();
        assert_eq!(view.endpoint_state.disabled, Some(Disabled::ByHand));
    }
    fleet.send(fleet.other(1), "1").await;
    fleet.until_count(DeliveryState::Pending, 1).await;
    fleet.other(1).enable(id(1)).await.unwrap();
    fleet.until_count(DeliveryState::Delivered, 1).await;
    assert_eq!(fleet.received().len(), 1);
}

#[tokio::test]
async fn a_delivery_is_cancelled_by_way_of_any_node() {
    let fleet = Fleet::of(2, Script::of([])).await;
    fleet.endpoints(1).await;
    fleet.other(1).disable(id(1)).await.unwrap();
    let message = fleet.send(&fleet.nodes[0], "1").await;
    let cancelled = fleet.other(1).cancel(message, id(1)).await.unwrap();
    assert_eq!(cancelled.state, DeliveryState::Cancelled);
    let again = fleet.other(1).cancel(message, id(1)).await.unwrap_err();
    assert_eq!(again.to_string(), "the delivery is already cancelled");
    fleet.other(1).enable(id(1)).await.unwrap();
    fleet.send(&fleet.nodes[0], "2").await;
    fleet.until_count(DeliveryState::Delivered, 1).await;
    assert_eq!(fleet.received().len(), 1);
}

#[tokio::test]
async fn dead_letters_are_replayed_by_way_of_any_node() {
    let refused = vec![Reaction::status(422); 40];
    let fleet = Fleet::of(3, Script::of(refused)).await;
    fleet.endpoints(4).await;
    for n in 0..10 {
        fleet.send(&fleet.nodes[n % 3], &n.to_string()).await;
    }
    fleet.until_count(DeliveryState::Dead, 40).await;
    let all = ReplayRequest::Many(fleet.app, DeliveryFilter::default());
    assert_eq!(fleet.nodes[2].replay(all).await.unwrap(), 40);
    fleet.until_count(DeliveryState::Delivered, 40).await;
    assert_eq!(fleet.received().len(), 80);
}

#[tokio::test]
async fn waiting_deliveries_are_retried_by_way_of_any_node() {
    let fleet = Fleet::of(2, Script::of(vec![Reaction::status(500); 3])).await;
    let hour = Span::from_secs(3_600);
    let backoff = Backoff::exponential(hour, hour).unwrap().with_jitter(Jitter::None).unwrap();
    let policy = Policy::webhook().to_builder().backoff(backoff).build().unwrap();
    let patient = Endpoint { policy, ..fleet.endpoint(1) };
    fleet.nodes[0].put_endpoint(patient).await.unwrap();
    let sent = fleet.send(&fleet.nodes[0], "1").await;
    fleet.send(&fleet.nodes[1], "2").await;
    fleet.send(&fleet.nodes[1], "3").await;
    fleet.until_count(DeliveryState::Waiting, 3).await;
    let other = fleet.other(1);
    other.retry(sent, id(1)).await.unwrap();
    fleet.until_count(DeliveryState::Delivered, 1).await;
    assert_eq!(other.retry_many(fleet.app, DeliveryFilter::default()).await.unwrap(), 2);
    fleet.until_count(DeliveryState::Delivered, 3).await;
    assert_eq!(fleet.received().len(), 6);
}

#[tokio::test]
async fn changed_settings_reach_the_leader() {
    let fleet = Fleet::of(2, Script::of([])).await;
    fleet.endpoints(1).await;
    let moved = endpoint(fleet.app, 1, &fleet.server.url("/moved"));
    fleet.other(1).put_endpoint(moved).await.unwrap();
    let leader = &fleet.nodes[fleet.leader(1)];
    until("the leader knows it", || leader.endpoint(id(1)).unwrap().url.ends_with("/moved")).await;
    fleet.send(fleet.other(1), "1").await;
    fleet.until_count(DeliveryState::Delivered, 1).await;
    assert_eq!(fleet.received()[0].0, "/moved");
}

/// First attempts of each dispatcher.
const FIRSTS: u32 = 300;
/// Retries in ten seconds whatever the traffic, and the most that two leases hold besides: see the
/// budgets guide.
const FLOOR: u32 = 10;
const LEASES: u32 = 12;

async fn dispatcher(budgets: SharedBudgets, url: &str) -> (Node, ApplicationId) {
    let allowed = SendOptions { allow_private: true, ..SendOptions::default() };
    let sender = Sender::new(allowed).expect("no certificates");
    let store = Arc::new(MemoryStore::default());
    let node = Node::start_with(store, sender, NodeOptions::default(), Some(budgets)).await;
    let (node, app) = (node.expect("it loads"), ApplicationId::from_uuid(Uuid::from_u128(1)));
    node.put_application(application(app)).await.expect("it is stored");
    let mut endpoint = endpoint(app, 1, url);
    // Only the budget holds anything back.
    let patient = BreakerPlan::builder().ratio(None).consecutive(10_000).build();
    let policy = endpoint.policy.to_builder().breaker(patient.expect("it is within its bounds"));
    endpoint.policy = policy.build().expect("it is valid");
    node.put_endpoint(endpoint).await.expect("it is stored");
    (node, app)
}

#[tokio::test]
async fn dispatchers_that_share_nothing_else_stay_within_one_budget() {
    let Ok(redis) = std::env::var("STAGGER_TEST_REDIS") else {
        eprintln!("skipped: no STAGGER_TEST_REDIS");
        return;
    };
    let server = TestServer::start(Script::always(Reaction::status(429))).await;
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let share = Ratio::from_percent(10);
        let budgets =
            SharedBudgets::connect(&redis, share, NonZeroU32::MIN).await.expect("it is up");
        nodes.push(dispatcher(budgets, &server.url("/")).await);
    }
    for (node, app) in &nodes {
        let messages = (0..FIRSTS).map(|n| submission(&n.to_string())).collect();
        node.accept(*app, messages).await.expect("there is room");
    }
    let made = || {
        let seconds = nodes.iter().flat_map(|(node, _)| node.attempt_rates(None).seconds);
        seconds.fold((0, 0), |(firsts, retries), it| (firsts + it.first, retries + it.retries))
    };
    until("the first attempts are made, and some retries", || {
        let (firsts, retries) = made();
        firsts == 2 * FIRSTS && retries >= FIRSTS / 10
    })
    .await;
    let (retries, most) = (made().1, 2 * FIRSTS / 10 + FLOOR + LEASES);
    assert!(retries <= most, "{retries} retries, of {most}");
    for (node, _) in &nodes {
        node.shutdown(Span::ZERO).await;
    }
}

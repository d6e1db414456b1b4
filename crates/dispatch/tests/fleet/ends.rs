//! Nodes come, leave, die, and are cut off.

use std::collections::BTreeSet;

use stagger::Span;
use stagger_dispatch::model::*;
use stagger_dispatch::store::{LinkFault, Shards};
use stagger_testkit::server::{Reaction, Script};

use crate::fleet::{Fleet, id, until};

#[tokio::test]
async fn a_node_that_died_is_replaced_and_nothing_is_lost() {
    let mut fleet = Fleet::of(3, Script::of([])).await;
    fleet.endpoints(20).await;
    for n in 0..10 {
        fleet.send(&fleet.nodes[n % 3], &n.to_string()).await;
    }
    // The last handle: the node ends immediately, as in a crash.
    drop(fleet.nodes.remove(1));
    for n in 10..20 {
        fleet.send(&fleet.nodes[n % 2], &n.to_string()).await;
    }
    fleet.until_count(DeliveryState::Delivered, 400).await;
    fleet.until_even().await;
    assert_eq!(fleet.received().iter().collect::<BTreeSet<_>>().len(), 400);
}

#[tokio::test]
async fn a_node_that_comes_gets_its_share_without_a_repeated_attempt() {
    let mut fleet = Fleet::of(1, Script::of([])).await;
    fleet.endpoints(20).await;
    for n in 0..30 {
        fleet.send(&fleet.nodes[n % fleet.nodes.len()], &n.to_string()).await;
        if n == 10 {
            let node = fleet.start().await;
            fleet.nodes.push(node);
        }
    }
    fleet.until_even().await;
    fleet.until_count(DeliveryState::Delivered, 600).await;
    assert_eq!(fleet.received().len(), 600);
}

#[tokio::test]
async fn a_node_that_leaves_hands_over_without_a_repeated_attempt() {
    let mut fleet = Fleet::of(3, Script::of([])).await;
    fleet.endpoints(20).await;
    let leaving = fleet.nodes.remove(0);
    let (end, sent) = tokio::join!(leaving.shutdown(Span::from_secs(60)), async {
        for n in 0..10 {
            fleet.send(&fleet.nodes[n % 2], &n.to_string()).await;
        }
    });
    let ((), ()) = (end, sent);
    assert_eq!(leaving.led(), Shards::NONE);
    fleet.until_even().await;
    fleet.until_count(DeliveryState::Delivered, 200).await;
    assert_eq!(fleet.received().len(), 200);
}

#[tokio::test]
async fn an_attempt_that_hangs_keeps_back_its_own_shard_only() {
    let script = Script::of([]).on_path("/1", Script::always(Reaction::hang()));
    let mut fleet = Fleet::of(2, script).await;
    fleet.endpoints(20).await;
    fleet.send(&fleet.nodes[0], "1").await;
    fleet.until_count(DeliveryState::Delivered, 19).await;
    fleet.server.until_taken(20).await;
    let leaving = fleet.nodes.remove(fleet.leader(1));
    let shutdown = tokio::spawn(async move { leaving.shutdown(Span::from_secs(60)).await });
    let staying = &fleet.nodes[0];
    // All but one: that of the endpoint that hangs.
    until("the others are led", || staying.led().len() == Shards::COUNT - 1).await;
    assert!(!staying.led().contains(stagger_dispatch::store::ShardId::of(id(1))));
    shutdown.abort();
}

#[tokio::test]
async fn a_node_that_was_cut_off_is_replaced_and_comes_back() {
    let mut fleet = Fleet::of(2, Script::of([])).await;
    fleet.endpoints(20).await;
    let store = std::sync::Arc::new(fleet.memory.handle());
    let third = fleet.start_on(store.clone()).await;
    fleet.nodes.push(third);
    fleet.until_even().await;
    store.cut(LinkFault::Unanswered);
    let third = fleet.nodes.pop().unwrap();
    fleet.until_even().await;
    for n in 0..10 {
        fleet.send(&fleet.nodes[n % 2], &n.to_string()).await;
    }
    fleet.until_count(DeliveryState::Delivered, 200).await;
    store.mend();
    fleet.nodes.push(third);
    fleet.until_even().await;
    for n in 10..20 {
        fleet.send(&fleet.nodes[n % 3], &n.to_string()).await;
    }
    fleet.until_count(DeliveryState::Delivered, 400).await;
    assert_eq!(fleet.received().len(), 400);
}

//! Nodes come, leave, die, and are cut off.

use std::collections::BTreeSet;
use std::sync::Arc;

use stagger::Span;
use stagger_scheduler::model::*;
use stagger_store::DeliveryStore;
use stagger_store::testing::LinkFault;
use stagger_store::{Fence, Shards};
use stagger_testkit::server::{Reaction, Script};

use crate::fleet::{Fleet, TIMEOUT, id, until};

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
    assert!(!staying.led().contains(stagger_store::ShardId::of(id(1))));
    shutdown.abort();
}

#[tokio::test]
async fn a_node_that_was_cut_off_is_replaced_and_comes_back() {
    let mut fleet = Fleet::of(2, Script::of([])).await;
    fleet.endpoints(20).await;
    let store = Arc::new(fleet.memory.handle());
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

#[tokio::test]
async fn a_node_that_stops_while_it_joins_again_leaves_no_member_behind() {
    let mut fleet = Fleet::of(2, Script::of([])).await;
    let store = Arc::new(fleet.memory.handle());
    let third = fleet.start_on(store.clone()).await;
    fleet.nodes.push(third);
    fleet.until_even().await;
    store.cut(LinkFault::Refused);
    let third = fleet.nodes.pop().unwrap();
    fleet.until_even().await;
    store.cut(LinkFault::JoinUnanswered);
    until_members(&fleet, |members| members.len() == 3).await;
    let answer = async {
        // The node has seen by then that it is to stop.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        store.mend();
    };
    tokio::join!(third.shutdown(Span::from_secs(10)), answer);
    assert_eq!(members(&fleet).await.len(), 2);
}

#[tokio::test]
async fn two_nodes_led_the_same_shards_for_ever_after_their_store_was_restored() {
    let fleet = Fleet::of(2, Script::of([])).await;
    fleet.endpoints(20).await;
    let handle = fleet.memory.handle();
    let cluster = handle.cluster().expect("nodes share it");
    // The store as it was when the first node still led what the second has acquired since.
    let (first, second) = (Fence(1), Fence(2));
    cluster.release(second, fleet.nodes[1].led()).await.expect("it is stored");
    cluster.acquire(first, Shards::COUNT).await.expect("they are free");
    // The second node notices by its next heartbeat, and joins again under another fence.
    until_members(&fleet, |members| members.len() == 2 && !members.contains(&second)).await;
    fleet.until_even().await;
    assert!(fleet.nodes[0].led().common(fleet.nodes[1].led()).is_empty());
    fleet.send(&fleet.nodes[1], "1").await;
    fleet.until_count(DeliveryState::Delivered, 20).await;
    assert_eq!(fleet.received().len(), 20);
}

/// The members of the store, as the first node is told.
async fn members(fleet: &Fleet) -> BTreeSet<Fence> {
    let handle = fleet.memory.handle();
    let cluster = handle.cluster().expect("nodes share it");
    let view = cluster.heartbeat(Fence(1), false).await.expect("it is a member");
    view.members.iter().map(|member| member.fence).collect()
}

async fn until_members(fleet: &Fleet, mut hold: impl FnMut(&BTreeSet<Fence>) -> bool) {
    let reached = async {
        while !hold(&members(fleet).await) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, reached).await.expect("the members become these");
}

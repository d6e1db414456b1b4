//! Settlements under changing fences.

use std::sync::Arc;

use stagger_scheduler::model::{DeliveryState, NewMessage};
use stagger_store::testing::fixture::{application, delivery, endpoint, ep, message, msg};
use stagger_store::testing::{FaultyStore, LinkFault};
use stagger_store::{Cluster, DeliveryStore, Fence, MemoryStore, Settlement, ShardId, Shards};
use tokio::sync::mpsc::error::TryRecvError;

use super::scheduler::{parts, within};
use crate::Error;
use crate::node::health::NodeHealth;
use crate::node::settle_queue::{PendingCommit, SettleQueue};
use crate::node::settler::Settler;

/// A store with deliveries 1, 2 and 3 to endpoint 1.
async fn filled<S: DeliveryStore>(store: S) -> S {
    store.put_application(application(1)).await.unwrap();
    for n in [1, 2] {
        store.put_endpoint(endpoint(n, 1)).await.unwrap();
    }
    let messages = [1, 2, 3].map(|n| message(n, 1, &[1])).to_vec();
    DeliveryStore::accept(&store, messages).await.unwrap();
    store
}

async fn join(store: &FaultyStore) -> Fence {
    let cluster: &dyn Cluster = store.cluster().expect("it is shared");
    cluster.join(&"a".into()).await.unwrap().fence
}

/// Hands over that a delivery is over.
fn push(
    health: &NodeHealth,
    queue: &SettleQueue,
    n: u64,
    operational: Option<NewMessage>,
) -> PendingCommit {
    let over = Some(delivery(n, 1, 1, DeliveryState::Cancelled, 9));
    health.begin_settling();
    let operational = operational.into_iter().collect();
    queue.push_awaiting_commit(Settlement { delivery: over, operational, ..Settlement::default() })
}

/// A queue under a fence, and the settler at its other end.
fn settling(settler: Settler, fence: Fence) -> (SettleQueue, Settler) {
    let (mut sender, queue) = SettleQueue::new();
    sender.begin(fence);
    (sender, Settler { queue, ..settler })
}

async fn state(store: &FaultyStore, n: u64) -> DeliveryState {
    store.delivery(msg(n), ep(1)).await.unwrap().expect("it was accepted").state
}

#[tokio::test]
async fn settlements_of_an_ended_membership_are_dropped_and_the_rest_is_stored() {
    let store = filled(FaultyStore::shared()).await;
    let (ended, lives) = (join(&store).await, join(&store).await);
    assert!(store.evict(ended, 0).await.unwrap());
    let node_store: Arc<dyn DeliveryStore> = Arc::new(store.handle());
    let parts = parts(&node_store);
    let (health, lost) = (parts.health, parts.fleet.lost.clone());
    let (mut queue, settler) = settling(parts.settler, lives);
    let first = push(&health, &queue, 1, None);
    queue.begin(ended);
    let (second, flushed) = (push(&health, &queue, 2, None), queue.flushed());
    queue.begin(lives);
    let third = push(&health, &queue, 3, None);
    let settler = tokio::spawn(settler.run());

    let left_out = Err(Error::busy("another node leads this endpoint now"));
    assert_eq!(within(first.wait()).await, Ok(()));
    assert_eq!(within(second.wait()).await, left_out);
    assert_eq!(within(flushed.wait()).await, Ok(()), "it was dropped, and waits for nothing");
    assert_eq!(within(third.wait()).await, Ok(()));
    let states = [state(&store, 1).await, state(&store, 2).await, state(&store, 3).await];
    let over = DeliveryState::Cancelled;
    assert_eq!(states, [over, DeliveryState::Pending, over]);
    assert_eq!((*lost.borrow(), health.unsettled()), (Some(ended), 0));

    queue.begin(ended);
    let late = push(&health, &queue, 2, None);
    assert_eq!(within(late.wait()).await, left_out);
    drop(queue);
    within(settler).await.expect("it ends by itself");
    assert!(health.check().is_ok() && health.unsettled() == 0);
}

#[tokio::test(start_paused = true)]
async fn a_flush_waits_for_a_store_that_is_away() {
    let store = filled(FaultyStore::shared()).await;
    let handle = Arc::new(store.handle());
    let fence = join(&handle).await;
    handle.cut(LinkFault::Refused);
    let node_store: Arc<dyn DeliveryStore> = handle.clone();
    let parts = parts(&node_store);
    let health = parts.health;
    let (queue, settler) = settling(parts.settler, fence);
    let (settled, flushed) = (push(&health, &queue, 1, None), queue.flushed());
    let settler = tokio::spawn(settler.run());
    assert!(settled.wait().await.is_err_and(|error| error.is_unavailable()));
    let mut flushed = std::pin::pin!(flushed.wait());
    tokio::select! {
        biased;
        done = &mut flushed => panic!("{done:?} though nothing is stored"),
        () = tokio::task::yield_now() => {}
    }
    handle.mend();
    assert_eq!(within(flushed).await, Ok(()));
    assert_eq!(state(&store, 1).await, DeliveryState::Cancelled);
    drop(queue);
    settler.await.unwrap();
}

#[tokio::test]
async fn an_operational_event_is_delivered_by_the_leader_of_its_endpoint() {
    async fn check(store: Arc<dyn DeliveryStore>, fence: Fence) {
        let mut parts = parts(&store);
        let cluster = parts.settler.cluster.clone();
        let (queue, settler) = settling(parts.settler, fence);
        _ = push(&parts.health, &queue, 1, Some(message(4, 1, &[2])));
        drop(queue);
        settler.run().await;
        assert!(matches!(parts.runner.commands.try_recv(), Err(TryRecvError::Empty)));
        let shards: Shards = [ShardId::of(ep(2))].into_iter().collect();
        assert_eq!(within(parts.fleet.notifications.next()).await, shards);
        let arrivals = cluster.arrivals(shards, &[], 10).await.unwrap();
        let delivery = arrivals[0].delivery.expect("it is open");
        assert_eq!((delivery.message, delivery.endpoint), (msg(4), ep(2)));
    }
    let alone = filled(MemoryStore::default()).await;
    let fence = alone.begin_run().await.unwrap();
    check(Arc::new(alone), fence).await;
    let store = filled(FaultyStore::shared()).await;
    let fence = join(&store).await;
    check(Arc::new(store.handle()), fence).await;
}

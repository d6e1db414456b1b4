//! Members and the shards that they lead.

use std::time::Duration;

use stagger_scheduler::model::DeliveryState::{Delivered, Pending};
use tokio::time::timeout;

use super::fixture::{ClusterFixture, shards};
use crate::testing::fixture::{at, ep, furnish, message, msg, settled};
use crate::{
    ClusterAccept, ClusterMember, DeliveryStore, Fence, Lead, NodeIdentity, Notification, ShardId,
    Shards,
};

pub(crate) async fn the_cluster_view_has_all_members(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    assert!(fixture.ann < fixture.bob);
    let cluster_view = fixture.cluster.heartbeat(fixture.ann, false).await.unwrap();
    let member = |fence, name: &str, heartbeat| {
        let (node, shards) = (NodeIdentity::from(name), Shards::NONE);
        ClusterMember { fence, node, heartbeat, leaving: false, shards }
    };
    assert_eq!(
        cluster_view.members,
        [member(fixture.ann, "ann", 1), member(fixture.bob, "bob", 0)]
    );
    assert_eq!((cluster_view.free, cluster_view.open), (Shards::ALL, 0));
    assert_eq!(cluster_view.settings_version, fixture.settings_version().await);
}

pub(crate) async fn a_member_is_shown_with_its_version_and_start(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let (address, version) = ("10.0.0.7:8080".to_owned(), Some("0.4.0".to_owned()));
    let node = NodeIdentity { address, version, started_at: Some(at(7)) };
    let carl = fixture.cluster.join(&node).await.unwrap().fence;
    let members = fixture.cluster.heartbeat(carl, false).await.unwrap().members;
    let shown = members.iter().find(|it| it.fence == carl).unwrap();
    assert_eq!(shown.node, node);
}

pub(crate) async fn heartbeats_are_counted_and_record_leaving_members(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    for leaving in [false, false, true] {
        fixture.cluster.heartbeat(fixture.ann, leaving).await.unwrap();
    }
    let members = fixture.cluster_view().await.members;
    let seen: Vec<_> = members.iter().map(|it| (it.heartbeat, it.leaving)).collect();
    assert_eq!(seen, [(3, true), (1, false)]);
}

pub(crate) async fn a_member_with_a_newer_heartbeat_is_not_evicted(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    fixture.cluster.heartbeat(fixture.ann, false).await.unwrap();
    fixture.cluster.heartbeat(fixture.ann, false).await.unwrap();
    for heartbeat in [0, 1, 3] {
        assert!(!fixture.cluster.evict(fixture.ann, heartbeat).await.unwrap());
    }
    assert_eq!(fixture.cluster_view().await.members.len(), 2);
    assert!(fixture.cluster.evict(fixture.ann, 2).await.unwrap());
    assert!(!fixture.cluster.evict(fixture.ann, 2).await.unwrap());
    assert_eq!(fixture.cluster_view().await.members.len(), 1);
}

pub(crate) async fn an_evicted_member_leads_and_writes_nothing(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1, 2]).await;
    fixture.accept(lead, vec![message(1, 1, &[1])]).await;
    assert!(fixture.cluster.evict(fixture.ann, 0).await.unwrap());
    assert_eq!(fixture.cluster_view().await.free, Shards::ALL);
    is_out(store, &fixture, lead).await;
    let again = fixture.cluster.join(&"ann".into()).await.unwrap().fence;
    assert!(again > fixture.bob);
    is_out(store, &fixture, lead).await;
    store.settle(again, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Delivered);
}

pub(crate) async fn a_member_that_left_leads_and_writes_nothing(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1, 2]).await;
    fixture.accept(lead, vec![message(1, 1, &[1])]).await;
    for _ in 0..2 {
        fixture.cluster.leave(fixture.ann).await.unwrap();
        assert_eq!(fixture.cluster_view().await.free, Shards::ALL);
    }
    is_out(store, &fixture, lead).await;
    // Nor once the last member has left.
    fixture.cluster.leave(fixture.bob).await.unwrap();
    is_out(store, &fixture, lead).await;
    is_out(store, &fixture, Lead { fence: fixture.bob, ..lead }).await;
}

/// Nothing is taken from a membership that has ended.
async fn is_out(store: &dyn DeliveryStore, fixture: &ClusterFixture<'_>, lead: Lead) {
    let (cluster, fence) = (fixture.cluster, lead.fence);
    assert!(cluster.heartbeat(fence, false).await.unwrap_err().is_conflict());
    assert!(cluster.acquire(fence, 1).await.unwrap_err().is_conflict());
    let refused = store.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await;
    assert!(refused.unwrap_err().is_conflict());
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Pending);
    let entry = cluster
        .accept(lead, fixture.settings_version().await, vec![message(9, 1, &[2])])
        .await
        .unwrap();
    assert_eq!(entry, ClusterAccept::NotLeading);
    assert_eq!(store.message(msg(9)).await.unwrap(), None);
    assert_eq!(fixture.arrived(&[1, 2]).await, []);
}

pub(crate) async fn all_members_settle(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    store.settle(fixture.ann, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
    store.settle(fixture.bob, vec![settled(1, 2, 1, Delivered, 5)]).await.unwrap();
    assert_eq!(store.counts(None).await.unwrap().of(Delivered), 2);
    let stranger = Fence(fixture.bob.0 + 1);
    assert!(store.settle(stranger, Vec::new()).await.unwrap_err().is_conflict());
}

pub(crate) async fn a_run_has_the_store_alone(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1, 2]).await;
    fixture.accept(lead, vec![message(1, 1, &[1])]).await;
    let run = store.begin_run().await.unwrap();
    assert!(run > fixture.bob);
    is_out(store, &fixture, lead).await;
    store.settle(run, Vec::new()).await.unwrap();
    // And no longer, once a node joins.
    let carl = fixture.cluster.join(&"carl".into()).await.unwrap().fence;
    assert!(store.settle(run, Vec::new()).await.unwrap_err().is_conflict());
    let cluster_view = fixture.cluster.heartbeat(carl, false).await.unwrap();
    assert_eq!((cluster_view.members.len(), cluster_view.free), (1, Shards::ALL));
}

pub(crate) async fn notifications_reach_all_members(store: &dyn DeliveryStore) {
    furnish(store).await;
    let cluster = store.cluster().unwrap();
    let (mut ann, mut bob) =
        (cluster.join(&"ann".into()).await.unwrap(), cluster.join(&"bob".into()).await.unwrap());
    let notifications = [
        Notification::Work(shards(&[1, 3])),
        Notification::Members,
        Notification::Settings,
        Notification::Work(Shards::ALL),
    ];
    for notification in notifications {
        cluster.notify(notification).await;
        for member in [&mut ann, &mut bob] {
            // Other tests may notify more.
            let mut told = None;
            while told != Some(notification) {
                told = timeout(TIMEOUT, member.notifications.recv()).await.expect("a hint comes");
                assert!(told.is_some(), "hints end never");
            }
        }
    }
}

/// The longest time that a notification may take, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn no_shard_is_led_twice(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let first = fixture.cluster.acquire(fixture.ann, 100).await.unwrap();
    let second = fixture.cluster.acquire(fixture.bob, 100).await.unwrap();
    let third = fixture.cluster.acquire(fixture.ann, 100).await.unwrap();
    assert_eq!([first, second, third].map(Shards::len), [100, 100, 56]);
    assert_eq!(first.union(second).union(third), Shards::ALL);
    assert_eq!(fixture.cluster.acquire(fixture.bob, 100).await.unwrap(), Shards::NONE);
    let cluster_view = fixture.cluster_view().await;
    assert_eq!(cluster_view.free, Shards::NONE);
    let led: Vec<_> = cluster_view.members.iter().map(|member| member.shards).collect();
    assert_eq!(led, [first.union(third), second]);
}

pub(crate) async fn takes_at_once_share_what_is_free(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let acquire = |member| fixture.cluster.acquire(member, 200);
    let (a, b, c) = tokio::join!(acquire(fixture.ann), acquire(fixture.bob), acquire(fixture.ann));
    let taken = [a, b, c].map(Result::unwrap);
    assert!(taken.iter().all(|some| some.len() <= 200));
    assert_eq!(taken.iter().map(|some| some.len()).sum::<usize>(), Shards::COUNT);
    assert_eq!(taken.into_iter().fold(Shards::NONE, Shards::union), Shards::ALL);
}

pub(crate) async fn no_more_shards_are_taken_than_wanted(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    assert_eq!(fixture.cluster.acquire(fixture.ann, 0).await.unwrap(), Shards::NONE);
    assert_eq!(fixture.cluster.acquire(fixture.ann, 1).await.unwrap().len(), 1);
    for stranger in [Fence(0), Fence(fixture.bob.0 + 1)] {
        assert!(fixture.cluster.acquire(stranger, 1).await.unwrap_err().is_conflict());
    }
    assert_eq!(fixture.cluster_view().await.free.len(), 255);
}

pub(crate) async fn shards_given_up_are_free(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let led = fixture.cluster.acquire(fixture.ann, 10).await.unwrap();
    let some: Shards = led.iter().take(4).collect();
    // Shards of others stay theirs.
    fixture.cluster.release(fixture.bob, led).await.unwrap();
    assert_eq!(fixture.shards_of(fixture.ann).await, led);
    let unled: Shards = Shards::ALL.without(led).iter().take(1).collect();
    for _ in 0..2 {
        fixture.cluster.release(fixture.ann, some.union(unled)).await.unwrap();
        assert_eq!(fixture.shards_of(fixture.ann).await, led.without(some));
        assert_eq!(fixture.cluster_view().await.free.len(), 250);
    }
    let others = fixture.cluster.acquire(fixture.bob, Shards::COUNT).await.unwrap();
    assert_eq!(others, Shards::ALL.without(led.without(some)));
    fixture.cluster.release(Fence(0), others).await.unwrap();
    assert_eq!(fixture.cluster_view().await.free, Shards::NONE);
}

pub(crate) async fn each_end_of_the_shards_is_led(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    fixture.cluster.acquire(fixture.ann, Shards::COUNT).await.unwrap();
    let ends: Shards = [0, 63, 64, 127, 128, 255].map(ShardId).into_iter().collect();
    fixture.cluster.release(fixture.ann, ends).await.unwrap();
    assert_eq!(fixture.cluster_view().await.free, ends);
    assert_eq!(fixture.cluster.acquire(fixture.bob, Shards::COUNT).await.unwrap(), ends);
}

//! Leadership of shards.

use super::fixture::ClusterFixture;
use crate::store::{DeliveryStore, Fence, ShardId, Shards};

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

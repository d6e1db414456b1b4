//! Who leads what.

use super::scene::Scene;
use crate::store::{Fence, Shard, Shards, Store};

pub(crate) async fn no_shard_is_led_twice(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let first = scene.cluster.take(scene.ann, 100).await.unwrap();
    let second = scene.cluster.take(scene.bob, 100).await.unwrap();
    let third = scene.cluster.take(scene.ann, 100).await.unwrap();
    assert_eq!([first, second, third].map(Shards::len), [100, 100, 56]);
    assert_eq!(first.union(second).union(third), Shards::ALL);
    assert_eq!(scene.cluster.take(scene.bob, 100).await.unwrap(), Shards::NONE);
    let roll = scene.roll().await;
    assert_eq!(roll.free, Shards::NONE);
    let led: Vec<_> = roll.members.iter().map(|member| member.shards).collect();
    assert_eq!(led, [first.union(third), second]);
}

pub(crate) async fn takes_at_once_share_what_is_free(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let take = |member| scene.cluster.take(member, 200);
    let (a, b, c) = tokio::join!(take(scene.ann), take(scene.bob), take(scene.ann));
    let taken = [a, b, c].map(Result::unwrap);
    assert!(taken.iter().all(|some| some.len() <= 200));
    assert_eq!(taken.iter().map(|some| some.len()).sum::<usize>(), Shards::COUNT);
    assert_eq!(taken.into_iter().fold(Shards::NONE, Shards::union), Shards::ALL);
}

pub(crate) async fn no_more_shards_are_taken_than_wanted(store: &dyn Store) {
    let scene = Scene::of(store).await;
    assert_eq!(scene.cluster.take(scene.ann, 0).await.unwrap(), Shards::NONE);
    assert_eq!(scene.cluster.take(scene.ann, 1).await.unwrap().len(), 1);
    for stranger in [Fence(0), Fence(scene.bob.0 + 1)] {
        assert!(scene.cluster.take(stranger, 1).await.unwrap_err().is_conflict());
    }
    assert_eq!(scene.roll().await.free.len(), 255);
}

pub(crate) async fn shards_given_up_are_free(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let led = scene.cluster.take(scene.ann, 10).await.unwrap();
    let some: Shards = led.iter().take(4).collect();
    // What others lead stays theirs.
    scene.cluster.give_up(scene.bob, led).await.unwrap();
    assert_eq!(scene.shards_of(scene.ann).await, led);
    let unled: Shards = Shards::ALL.without(led).iter().take(1).collect();
    for _ in 0..2 {
        scene.cluster.give_up(scene.ann, some.union(unled)).await.unwrap();
        assert_eq!(scene.shards_of(scene.ann).await, led.without(some));
        assert_eq!(scene.roll().await.free.len(), 250);
    }
    let others = scene.cluster.take(scene.bob, Shards::COUNT).await.unwrap();
    assert_eq!(others, Shards::ALL.without(led.without(some)));
    scene.cluster.give_up(Fence(0), others).await.unwrap();
    assert_eq!(scene.roll().await.free, Shards::NONE);
}

pub(crate) async fn each_end_of_the_shards_is_led(store: &dyn Store) {
    let scene = Scene::of(store).await;
    scene.cluster.take(scene.ann, Shards::COUNT).await.unwrap();
    let ends: Shards = [0, 63, 64, 127, 128, 255].map(Shard).into_iter().collect();
    scene.cluster.give_up(scene.ann, ends).await.unwrap();
    assert_eq!(scene.roll().await.free, ends);
    assert_eq!(scene.cluster.take(scene.bob, Shards::COUNT).await.unwrap(), ends);
}

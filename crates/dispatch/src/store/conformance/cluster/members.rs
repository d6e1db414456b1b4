//! Nodes come and go.

use std::time::Duration;

use tokio::time::timeout;

use super::scene::{Scene, shards};
use crate::model::DeliveryState::{Delivered, Pending};
use crate::store::fixture::{ep, furnish, message, msg, settled};
use crate::store::{Entry, Fence, Hint, Lead, Member, Shards, Store};

pub(crate) async fn members_are_called_in_the_roll(store: &dyn Store) {
    let scene = Scene::of(store).await;
    assert!(scene.ann < scene.bob);
    let roll = scene.cluster.beat(scene.ann, false).await.unwrap();
    let member = |fence, name: &str, beat| {
        let (name, shards) = (name.to_owned(), Shards::NONE);
        Member { fence, name, beat, leaving: false, shards }
    };
    assert_eq!(roll.members, [member(scene.ann, "ann", 1), member(scene.bob, "bob", 0)]);
    assert_eq!((roll.free, roll.open), (Shards::ALL, 0));
    assert_eq!(roll.news, scene.news().await);
}

pub(crate) async fn beats_are_counted_and_say_who_is_leaving(store: &dyn Store) {
    let scene = Scene::of(store).await;
    for leaving in [false, false, true] {
        scene.cluster.beat(scene.ann, leaving).await.unwrap();
    }
    let members = scene.roll().await.members;
    let seen: Vec<_> = members.iter().map(|it| (it.beat, it.leaving)).collect();
    assert_eq!(seen, [(3, true), (1, false)]);
}

pub(crate) async fn a_member_that_has_beaten_is_not_evicted(store: &dyn Store) {
    let scene = Scene::of(store).await;
    scene.cluster.beat(scene.ann, false).await.unwrap();
    scene.cluster.beat(scene.ann, false).await.unwrap();
    for beat in [0, 1, 3] {
        assert!(!scene.cluster.evict(scene.ann, beat).await.unwrap());
    }
    assert_eq!(scene.roll().await.members.len(), 2);
    assert!(scene.cluster.evict(scene.ann, 2).await.unwrap());
    assert!(!scene.cluster.evict(scene.ann, 2).await.unwrap());
    assert_eq!(scene.roll().await.members.len(), 1);
}

pub(crate) async fn who_is_evicted_leads_and_writes_nothing(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let lead = scene.leads(scene.ann, &[1, 2]).await;
    scene.accept(lead, vec![message(1, 1, &[1])]).await;
    assert!(scene.cluster.evict(scene.ann, 0).await.unwrap());
    assert_eq!(scene.roll().await.free, Shards::ALL);
    is_out(store, &scene, lead).await;
    let again = scene.cluster.join("ann").await.unwrap().fence;
    assert!(again > scene.bob);
    is_out(store, &scene, lead).await;
    store.settle(again, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Delivered);
}

pub(crate) async fn who_leaves_leads_and_writes_nothing(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let lead = scene.leads(scene.ann, &[1, 2]).await;
    scene.accept(lead, vec![message(1, 1, &[1])]).await;
    for _ in 0..2 {
        scene.cluster.leave(scene.ann).await.unwrap();
        assert_eq!(scene.roll().await.free, Shards::ALL);
    }
    is_out(store, &scene, lead).await;
    // Nor once nobody is left.
    scene.cluster.leave(scene.bob).await.unwrap();
    is_out(store, &scene, lead).await;
    is_out(store, &scene, Lead { fence: scene.bob, ..lead }).await;
}

/// Nothing is taken from a membership that has ended.
async fn is_out(store: &dyn Store, scene: &Scene<'_>, lead: Lead) {
    let (cluster, fence) = (scene.cluster, lead.fence);
    assert!(cluster.beat(fence, false).await.unwrap_err().is_conflict());
    assert!(cluster.take(fence, 1).await.unwrap_err().is_conflict());
    let refused = store.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await;
    assert!(refused.unwrap_err().is_conflict());
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Pending);
    let entry = cluster.accept(lead, scene.news().await, vec![message(9, 1, &[2])]).await.unwrap();
    assert_eq!(entry, Entry::NotLeading);
    assert_eq!(store.message(msg(9)).await.unwrap(), None);
    assert_eq!(scene.arrived(&[1, 2]).await, []);
}

pub(crate) async fn all_members_settle(store: &dyn Store) {
    let scene = Scene::of(store).await;
    store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    store.settle(scene.ann, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
    store.settle(scene.bob, vec![settled(1, 2, 1, Delivered, 5)]).await.unwrap();
    assert_eq!(store.counts(None).await.unwrap().of(Delivered), 2);
    let stranger = Fence(scene.bob.0 + 1);
    assert!(store.settle(stranger, Vec::new()).await.unwrap_err().is_conflict());
}

pub(crate) async fn a_run_has_the_store_alone(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let lead = scene.leads(scene.ann, &[1, 2]).await;
    scene.accept(lead, vec![message(1, 1, &[1])]).await;
    let run = store.begin_run().await.unwrap();
    assert!(run > scene.bob);
    is_out(store, &scene, lead).await;
    store.settle(run, Vec::new()).await.unwrap();
    // And no longer, once somebody joins.
    let carl = scene.cluster.join("carl").await.unwrap().fence;
    assert!(store.settle(run, Vec::new()).await.unwrap_err().is_conflict());
    let roll = scene.cluster.beat(carl, false).await.unwrap();
    assert_eq!((roll.members.len(), roll.free), (1, Shards::ALL));
}

pub(crate) async fn hints_are_told_to_all_members(store: &dyn Store) {
    furnish(store).await;
    let cluster = store.cluster().unwrap();
    let (mut ann, mut bob) =
        (cluster.join("ann").await.unwrap(), cluster.join("bob").await.unwrap());
    let hints = [Hint::Work(shards(&[1, 3])), Hint::Roll, Hint::News, Hint::Work(Shards::ALL)];
    for hint in hints {
        cluster.hint(hint).await;
        for member in [&mut ann, &mut bob] {
            // Others may hint at more.
            let mut told = None;
            while told != Some(hint) {
                told = timeout(PATIENCE, member.hints.recv()).await.expect("a hint comes");
                assert!(told.is_some(), "hints end never");
            }
        }
    }
}

/// How long a hint may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

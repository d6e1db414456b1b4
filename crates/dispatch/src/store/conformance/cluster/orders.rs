//! What only a leader can do is ordered from it, and what it knows is read.

use super::scene::{Scene, shards};
use crate::model::DeliveryState::{Dead, Waiting};
use crate::model::{Disabled, Standing};
use crate::store::fixture::{app, at, ep, message, msg, settled};
use crate::store::{Lead, Order, ReplayRequest, Settlement, Shards, Store};

pub(crate) async fn orders_are_there_until_they_are_carried_out(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let cluster = scene.cluster;
    let all = [Order::Disable, Order::Cancel(msg(7)), Order::Enable, Order::Recover];
    let mut left = Vec::new();
    for order in all {
        left.push((cluster.order(ep(1), order).await.unwrap(), ep(1), order));
        cluster.order(ep(3), order).await.unwrap();
    }
    assert!(left.is_sorted_by_key(|(number, ..)| *number));
    assert_eq!(cluster.orders(shards(&[1, 2])).await.unwrap(), left);
    assert_eq!(cluster.orders(Shards::ALL).await.unwrap().len(), 8);
    assert_eq!(cluster.orders(Shards::NONE).await.unwrap(), []);
    let done = [left[0].0, left[2].0];
    for _ in 0..2 {
        cluster.carried_out(&done).await.unwrap();
        assert_eq!(cluster.orders(shards(&[1])).await.unwrap(), [left[1], left[3]]);
    }
    for (place, (number, ..)) in left.iter().enumerate() {
        assert_eq!(cluster.is_carried_out(*number).await.unwrap(), place % 2 == 0);
    }
    assert_eq!(cluster.orders(shards(&[3])).await.unwrap().len(), 4);
}

pub(crate) async fn nobody_is_ordered_about_what_is_gone(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let cluster = scene.cluster;
    assert!(cluster.order(ep(9), Order::Enable).await.unwrap_err().is_not_found());
    let of_endpoint = cluster.order(ep(1), Order::Enable).await.unwrap();
    let of_application = cluster.order(ep(3), Order::Enable).await.unwrap();
    let other = cluster.order(ep(2), Order::Enable).await.unwrap();
    store.delete_endpoint(ep(1), at(20)).await.unwrap();
    store.delete_application(app(2)).await.unwrap();
    assert!(cluster.is_carried_out(of_endpoint).await.unwrap());
    assert!(cluster.is_carried_out(of_application).await.unwrap());
    assert_eq!(cluster.orders(Shards::ALL).await.unwrap(), [(other, ep(2), Order::Enable)]);
    assert!(cluster.order(ep(1), Order::Enable).await.unwrap_err().is_not_found());
}

pub(crate) async fn a_standing_is_as_it_was_settled(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let standing = Standing { disabled: Some(Disabled::Gone), ..Standing::default() };
    let learned = Settlement { standing: Some((ep(1), standing)), ..Settlement::default() };
    store.settle(scene.ann, vec![learned]).await.unwrap();
    let of = |n| scene.cluster.standing(ep(n));
    assert_eq!(of(1).await.unwrap(), Some(standing));
    assert_eq!(of(2).await.unwrap(), Some(Standing::default()));
    assert_eq!(of(9).await.unwrap(), None);
    store.delete_endpoint(ep(1), at(20)).await.unwrap();
    assert_eq!(of(1).await.unwrap(), None);
}

pub(crate) async fn the_roll_counts_what_is_open(store: &dyn Store) {
    let scene = Scene::of(store).await;
    scene.accept(Lead::default(), vec![message(1, 1, &[1, 2]), message(2, 2, &[3])]).await;
    assert_eq!(scene.roll().await.open, 3);
    let changes = [settled(1, 1, 1, Dead, 9), settled(1, 2, 1, Waiting, 9)];
    store.settle(scene.ann, changes.to_vec()).await.unwrap();
    assert_eq!(scene.roll().await.open, 2);
    store.replay(ReplayRequest::One(msg(1), ep(1)), at(20), 1).await.unwrap();
    assert_eq!(scene.roll().await.open, 3);
    store.delete_endpoint(ep(1), at(30)).await.unwrap();
    store.delete_application(app(2)).await.unwrap();
    assert_eq!(scene.roll().await.open, 1);
}

//! Finished deliveries are made pending again.

use super::answers::{names, to_first};
use crate::model::DeliveryState::{Cancelled, Dead, Delivered, Pending};
use crate::store::testing::fixture::{app, at, ep, furnish, message, msg, settled};
use crate::store::{DeliveryFilter, DeliveryStore, ReplayRequest};

pub(crate) async fn one_delivery_is_replayed_unless_it_is_open(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=4).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let ends = [(1, Dead), (2, Delivered), (3, Cancelled)].map(|(n, s)| settled(n, 1, 1, s, 9));
    store.settle(fence, ends.to_vec()).await.unwrap();
    for n in 1..=3 {
        let one = ReplayRequest::One(msg(n), ep(1));
        let replayed = store.replay(one, at(50), 1).await.unwrap();
        assert_eq!(store.delivery(msg(n), ep(1)).await.unwrap(), replayed.first().copied());
        let now = replayed[0];
        assert_eq!((now.state, now.due, now.updated_at), (Pending, at(50), at(50)));
        assert_eq!((now.attempts, now.replays, now.call, now.ending), (2, 1, None, None));
        assert!(store.replay(one, at(51), 1).await.unwrap_err().is_conflict());
    }
    let missing = ReplayRequest::One(msg(9), ep(1));
    assert!(store.replay(missing, at(50), 1).await.unwrap_err().is_not_found());
    store.delete_endpoint(ep(2), at(60)).await.unwrap();
    let orphan = ReplayRequest::One(msg(1), ep(2));
    assert!(store.replay(orphan, at(70), 1).await.unwrap_err().is_not_found());
}

pub(crate) async fn replays_of_many_take_the_dead_oldest_first(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=9).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    store.accept(vec![message(20, 2, &[3])]).await.unwrap();
    let dead = [7, 3, 5, 1].map(|n| settled(n, 1, 1, Dead, 30));
    store.settle(fence, dead.to_vec()).await.unwrap();
    let ends = vec![settled(2, 1, 1, Delivered, 30), settled(20, 3, 2, Dead, 30)];
    store.settle(fence, ends).await.unwrap();
    let all = ReplayRequest::Many(app(1), DeliveryFilter::default());
    assert_eq!(names(&store.replay(all, at(40), 3).await.unwrap()), to_first(&[1, 3, 5]));
    assert_eq!(names(&store.replay(all, at(40), 3).await.unwrap()), to_first(&[7]));
    assert_eq!(store.replay(all, at(40), 3).await.unwrap(), []);
    assert_eq!(store.delivery(msg(2), ep(1)).await.unwrap().unwrap().state, Delivered);
    assert_eq!(store.delivery(msg(20), ep(3)).await.unwrap().unwrap().state, Dead);
}

pub(crate) async fn replays_of_many_follow_their_filter(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=9).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let dead = (1..=9).flat_map(|n| [settled(n, 1, 1, Dead, 30), settled(n, 2, 1, Delivered, 30)]);
    store.settle(fence, dead.collect()).await.unwrap();
    let times =
        DeliveryFilter { since: Some(at(4)), until: Some(at(6)), ..DeliveryFilter::default() };
    let replay = |filter| store.replay(ReplayRequest::Many(app(1), filter), at(40), 99);
    assert_eq!(names(&replay(times).await.unwrap()), to_first(&[4, 5]));
    let second = DeliveryFilter { endpoint: Some(ep(2)), ..DeliveryFilter::default() };
    assert_eq!(replay(second).await.unwrap(), []);
    let delivered = DeliveryFilter { state: Some(Delivered), since: Some(at(8)), ..second };
    let found = names(&replay(delivered).await.unwrap());
    assert_eq!(found, [(msg(8), ep(2)), (msg(9), ep(2))]);
    let open = DeliveryFilter { state: Some(Pending), ..DeliveryFilter::default() };
    assert_eq!(replay(open).await.unwrap(), []);
    store.delete_endpoint(ep(1), at(41)).await.unwrap();
    assert_eq!(replay(DeliveryFilter::default()).await.unwrap(), []);
}

pub(crate) async fn replays_of_many_come_to_an_end(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=3).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    let dead = (1..=3).map(|n| settled(n, 1, 1, Dead, 30)).collect();
    store.settle(fence, dead).await.unwrap();
    let all = ReplayRequest::Many(app(1), DeliveryFilter::default());
    assert_eq!(names(&store.replay(all, at(40), 2).await.unwrap()), to_first(&[1, 2]));
    store.settle(fence, vec![settled(1, 1, 1, Dead, 41)]).await.unwrap();
    assert_eq!(names(&store.replay(all, at(40), 2).await.unwrap()), to_first(&[3]));
    assert_eq!(names(&store.replay(all, at(42), 2).await.unwrap()), to_first(&[1]));
}

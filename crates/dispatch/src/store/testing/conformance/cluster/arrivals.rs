//! Leaders find their arrivals.

use super::fixture::{ClusterFixture, numbers, shards};
use crate::model::DeliveryState::{Dead, Delivered, Waiting};
use crate::store::testing::conformance::answers::names;
use crate::store::testing::fixture::{app, at, delivery, ep, message, msg, settled};
use crate::store::{DeliveryFilter, DeliveryStore, Lead, ReplayRequest, Settlement, Shards};

pub(crate) async fn arrivals_are_answered_until_they_are_done(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    for n in [3, 1, 2] {
        fixture.accept(Lead::default(), vec![message(n, 1, &[1, 2])]).await;
    }
    let order = [3, 1, 2].map(|n| (msg(n), ep(1)));
    for _ in 0..2 {
        assert_eq!(fixture.arrived(&[1]).await, order);
    }
    let all = numbers(&fixture.arrivals(&[1]).await);
    let mine = shards(&[1]);
    let two = fixture.cluster.arrivals(mine, &[], 2).await.unwrap();
    assert_eq!(numbers(&two), all[..2]);
    for _ in 0..2 {
        let left = fixture.cluster.arrivals(mine, &all[1..2], 9).await.unwrap();
        assert_eq!(numbers(&left), [all[0], all[2]]);
    }
    // None is wanted, but these are completed all the same.
    assert_eq!(fixture.cluster.arrivals(Shards::NONE, &all, 9).await.unwrap(), []);
    assert_eq!(fixture.arrivals(&[1]).await, []);
    assert_eq!(fixture.cluster.arrivals(mine, &[u64::MAX >> 1], 9).await.unwrap(), []);
    assert_eq!(fixture.arrived(&[1, 2]).await, [3, 1, 2].map(|n| (msg(n), ep(2))));
    assert_eq!(store.open_deliveries(None, 99).await.unwrap().len(), 6);
}

pub(crate) async fn arrivals_show_deliveries_as_they_are(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    fixture.accept(Lead::default(), (1..=3).map(|n| message(n, 1, &[1])).collect()).await;
    let changes = [settled(1, 1, 1, Waiting, 9), settled(2, 1, 1, Delivered, 9)];
    store.settle(fixture.ann, changes.to_vec()).await.unwrap();
    let found = fixture.arrivals(&[1]).await;
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].delivery, Some(delivery(1, 1, 1, Waiting, 9)));
    assert_eq!(found[1].delivery, None);
    assert_eq!(found[2].delivery.unwrap().message, msg(3));
    store.delete_endpoint(ep(1), at(20)).await.unwrap();
    let found = fixture.arrivals(&[1]).await;
    assert_eq!(found.iter().filter(|it| it.delivery.is_some()).count(), 0);
    let left = fixture.cluster.arrivals(Shards::ALL, &numbers(&found), 9).await.unwrap();
    assert_eq!(left, []);
}

pub(crate) async fn deleted_deliveries_do_not_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let batch = vec![message(1, 1, &[1]), message(2, 2, &[3]), message(3, 1, &[1])];
    fixture.accept(Lead::default(), batch).await;
    store.settle(fixture.ann, vec![settled(1, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(at(3), 9).await.unwrap().messages, 1);
    store.delete_application(app(2)).await.unwrap();
    assert_eq!(fixture.arrived(&[1, 3]).await, [(msg(3), ep(1))]);
    let (_, covered) = fixture.load(Shards::ALL).await;
    assert_eq!(fixture.cluster.arrivals(Shards::ALL, &covered, 9).await.unwrap(), []);
}

pub(crate) async fn replays_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    store.accept((1..=3).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let ends = [(1, 1), (2, 1), (3, 2)].map(|(n, to)| settled(n, to, 1, Dead, 9));
    store.settle(fixture.ann, ends.to_vec()).await.unwrap();
    let (_, covered) = fixture.load(Shards::ALL).await;
    assert_eq!(fixture.cluster.arrivals(Shards::ALL, &covered, 9).await.unwrap(), []);
    store.replay(ReplayRequest::One(msg(2), ep(1)), at(20), 1).await.unwrap();
    assert_eq!(fixture.arrived(&[1, 2]).await, [(msg(2), ep(1))]);
    let found = fixture.arrivals(&[1]).await;
    let replayed = delivery(2, 1, 1, Dead, 9).replayed(at(20));
    assert_eq!(found[0].delivery, Some(replayed));
    assert_eq!(found[0].content.as_ref().map(|(message, _)| message.id), Some(msg(2)));
    let many = ReplayRequest::Many(app(1), DeliveryFilter::default());
    let replayed = store.replay(many, at(30), 9).await.unwrap();
    assert_eq!(names(&replayed), [(msg(1), ep(1)), (msg(3), ep(2))]);
    assert_eq!(fixture.arrived(&[1]).await, [2, 1].map(|n| (msg(n), ep(1))));
    assert_eq!(fixture.arrived(&[2]).await, [(msg(3), ep(2))]);
    assert!(store.replay(ReplayRequest::One(msg(2), ep(1)), at(40), 1).await.is_err());
    assert_eq!(fixture.arrivals(&[1, 2]).await.len(), 3);
}

pub(crate) async fn operational_messages_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1, 2]).await;
    fixture.accept(lead, vec![message(1, 1, &[1])]).await;
    let dead = Settlement { operational: Some(message(2, 1, &[2])), ..settled(1, 1, 1, Dead, 9) };
    for _ in 0..2 {
        store.settle(fixture.ann, vec![dead.clone()]).await.unwrap();
        assert_eq!(fixture.arrived(&[1, 2]).await, [(msg(2), ep(2))]);
    }
}

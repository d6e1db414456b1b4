//! A new leader loads the open deliveries.

use super::fixture::{ClusterFixture, numbers, shards};
use crate::model::Delivery;
use crate::model::DeliveryState::{Dead, Delivered, Waiting};
use crate::store::testing::conformance::answers::names;
use crate::store::testing::fixture::{at, delivery, ep, message, msg, settled};
use crate::store::{DeliveryStore, Lead, ReplayRequest, Shards};

pub(crate) async fn open_deliveries_are_loaded_oldest_first(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let batch = [4, 2, 5, 3, 1].map(|n| message(n, 1, &[2, 1]));
    store.accept(batch.to_vec()).await.unwrap();
    store.accept(vec![message(6, 2, &[3])]).await.unwrap();
    let ends = [(2, Delivered), (3, Waiting), (5, Dead)].map(|(n, s)| settled(n, 1, 1, s, 9));
    store.settle(fixture.ann, ends.to_vec()).await.unwrap();
    store.replay(ReplayRequest::One(msg(5), ep(1)), at(20), 1).await.unwrap();
    let (found, _) = fixture.load(shards(&[1])).await;
    assert_eq!(names(&found), [1, 3, 4, 5].map(|n| (msg(n), ep(1))));
    assert_eq!(found[1], delivery(3, 1, 1, Waiting, 9));
    assert_eq!(found[3], delivery(5, 1, 1, Dead, 9).replayed(at(20)));
    let (found, _) = fixture.load(shards(&[1, 2])).await;
    let of = |to| found.iter().copied().filter(|it| it.endpoint == ep(to)).collect::<Vec<_>>();
    assert_eq!(found.len(), 9);
    assert_eq!(names(&of(1)), [1, 3, 4, 5].map(|n| (msg(n), ep(1))));
    assert_eq!(names(&of(2)), [1, 2, 3, 4, 5].map(|n| (msg(n), ep(2))));
    let (found, _) = fixture.load(Shards::ALL.without(shards(&[1, 2]))).await;
    assert_eq!(names(&found), [(msg(6), ep(3))]);
    assert_eq!(fixture.load(Shards::NONE).await, (Vec::new(), Vec::new()));
}

pub(crate) async fn a_long_backlog_is_loaded_whole(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    for thousand in 0..4 {
        let batch = (1..=1000).rev().map(|n| message(thousand * 1000 + n, 1, &[1, 2])).collect();
        store.accept(batch).await.unwrap();
    }
    let (found, covered) = fixture.load(Shards::ALL).await;
    assert_eq!((found.len(), covered.len()), (8000, 8000));
    for to in [1, 2] {
        let of_one: Vec<Delivery> =
            found.iter().copied().filter(|it| it.endpoint == ep(to)).collect();
        assert_eq!(names(&of_one), (1..=4000).map(|n| (msg(n), ep(to))).collect::<Vec<_>>());
    }
}

pub(crate) async fn loading_covers_what_has_arrived(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let batch = (1..=3).map(|n| message(n, 1, &[1, 2])).collect();
    fixture.accept(Lead::default(), batch).await;
    let own = fixture.leads(fixture.ann, &[1]).await;
    fixture.accept(own, vec![message(4, 1, &[1])]).await;
    store.settle(fixture.ann, vec![settled(2, 1, 1, Delivered, 9)]).await.unwrap();
    let arrivals = fixture.arrivals(&[1]).await;
    let (found, covered) = fixture.load(own.shards).await;
    assert_eq!(names(&found), [1, 3, 4].map(|n| (msg(n), ep(1))));
    assert_eq!((covered.len(), &covered), (3, &numbers(&arrivals)));
    // Later ones are not.
    fixture.accept(Lead::default(), vec![message(5, 1, &[1])]).await;
    let left = fixture.cluster.arrivals(own.shards, &covered, 9).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].delivery.unwrap().message, msg(5));
    assert!(!covered.contains(&left[0].number));
    assert_eq!(fixture.arrivals(&[2]).await.len(), 3);
}

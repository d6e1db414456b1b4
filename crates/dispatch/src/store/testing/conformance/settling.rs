//! Attempts settle.

use stagger::Verdict;

use super::answers::{counted, names};
use crate::model::DeliveryState::{Cancelled, Dead, Delivered, Pending, Waiting};
use crate::model::EndpointState;
use crate::store::testing::fixture::{
    app, at, attempt, delivery, ep, furnish, message, msg, settled,
};
use crate::store::{DeliveryCounts, DeliveryStore, Fence, ReplayRequest, Settlement};

pub(crate) async fn a_settlement_is_written_whole(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    let failed = Settlement {
        delivery: Some(delivery(1, 1, 1, Waiting, 5)),
        attempt: Some(attempt(1, 1, 1, Verdict::Throttled)),
        endpoint_state: Some((
            ep(1),
            EndpointState { paused_until: Some(at(9)), ..EndpointState::default() },
        )),
        operational: Some(message(2, 1, &[2])),
    };
    store.settle(fence, vec![failed, settled(1, 2, 1, Delivered, 6)]).await.unwrap();
    let expected = [delivery(1, 1, 1, Waiting, 5), delivery(1, 2, 1, Delivered, 6)];
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap(), expected);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap().len(), 1);
    assert_eq!(store.endpoints().await.unwrap()[0].1.paused_until, Some(at(9)));
    let open: Vec<_> = names(&store.open_deliveries(None, 9).await.unwrap());
    assert_eq!(open, [(msg(1), ep(1)), (msg(2), ep(2))]);
}

pub(crate) async fn a_stale_run_changes_nothing(store: &dyn DeliveryStore) {
    let stale = furnish(store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    let fence = store.begin_run().await.unwrap();
    assert!(fence > stale);
    for wrong in [stale, Fence(0), Fence(fence.0 + 1)] {
        let refused = store.settle(wrong, vec![settled(1, 1, 1, Delivered, 5)]).await;
        assert!(refused.unwrap_err().is_conflict());
    }
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Pending);
    store.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
}

pub(crate) async fn a_finished_delivery_stays_finished(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    let late = Settlement {
        attempt: Some(attempt(1, 1, 1, Verdict::Transient)),
        ..settled(1, 1, 1, Waiting, 6)
    };
    store.settle(fence, vec![settled(1, 1, 1, Cancelled, 5), late]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Cancelled);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap().len(), 1);
    store.settle(fence, vec![settled(1, 1, 1, Delivered, 7)]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Delivered);
}

pub(crate) async fn settlements_of_what_is_gone_are_left_out(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    let gone = Settlement {
        delivery: Some(delivery(1, 1, 1, Waiting, 5)),
        attempt: Some(attempt(1, 1, 1, Verdict::Transient)),
        endpoint_state: Some((ep(9), EndpointState::default())),
        operational: None,
    };
    store.settle(fence, vec![gone]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap(), None);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap(), []);
    assert_eq!(store.endpoints().await.unwrap().len(), 3);
    assert_eq!(store.counts(None).await.unwrap(), DeliveryCounts::default());
}

pub(crate) async fn attempts_come_back_in_order_as_they_were(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    let verdicts = [
        Verdict::Transient,
        Verdict::Throttled,
        Verdict::Unprocessed,
        Verdict::Permanent,
        Verdict::Cancelled,
        Verdict::Ok,
    ];
    let made: Vec<_> = (1..).zip(verdicts).map(|(n, v)| attempt(1, 1, n, v)).collect();
    for attempt in made.iter().rev().cloned() {
        let settlement = Settlement { attempt: Some(attempt), ..settled(1, 1, 1, Waiting, 5) };
        store.settle(fence, vec![settlement]).await.unwrap();
    }
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap(), made);
    assert_eq!(store.attempts(msg(1), ep(2)).await.unwrap(), []);
}

pub(crate) async fn counts_follow_every_change(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    assert_eq!(store.counts(Some(ep(1))).await.unwrap(), DeliveryCounts::default());
    store.accept((1..=6).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let states = [Waiting, Delivered, Dead, Cancelled].into_iter();
    let ends = (1..).zip(states).map(|(n, state)| settled(n, 1, 1, state, 9)).collect();
    store.settle(fence, ends).await.unwrap();
    assert_eq!(counted(store, Some(ep(1))).await, [2, 1, 1, 1, 1]);
    assert_eq!(counted(store, Some(ep(2))).await, [6, 0, 0, 0, 0]);
    assert_eq!(counted(store, None).await, [8, 1, 1, 1, 1]);
    store.replay(ReplayRequest::One(msg(3), ep(1)), at(20), 1).await.unwrap();
    store.settle(fence, vec![settled(2, 2, 1, Delivered, 9)]).await.unwrap();
    store.prune(at(99), 9).await.unwrap();
    assert_eq!(counted(store, None).await, [8, 1, 0, 0, 1]);
    store.delete_application(app(1)).await.unwrap();
    assert_eq!(counted(store, None).await, [0; 5]);
}

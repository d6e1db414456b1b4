//! Old messages go.

use stagger::Verdict;

use super::answers::{names, to_first};
use crate::model::DeliveryState::Delivered;
use crate::store::testing::fixture::{at, attempt, ep, furnish, keyed, message, msg, settled};
use crate::store::{DeliveryStore, Settlement};

pub(crate) async fn pruning_takes_finished_messages_oldest_first(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=400).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    let made = |n| Settlement {
        attempt: Some(attempt(n, 1, 1, Verdict::Ok)),
        ..settled(n, 1, 1, Delivered, 500)
    };
    store.settle(fence, (2..=400).filter(|n| *n != 7).map(made).collect()).await.unwrap();
    store.accept(vec![message(401, 2, &[])]).await.unwrap();
    assert_eq!(store.prune(at(2), 9).await.unwrap().messages, 0);
    assert_eq!(store.prune(at(300), 3).await.unwrap().messages, 3);
    for (n, there) in [(1, true), (2, false), (3, false), (4, false), (5, true)] {
        assert_eq!(store.message(msg(n)).await.unwrap().is_some(), there, "{n}");
        assert_eq!(store.payload(msg(n)).await.unwrap().is_some(), there, "{n}");
        assert_eq!(store.delivery(msg(n), ep(1)).await.unwrap().is_some(), there, "{n}");
        let attempts = store.attempts(msg(n), ep(1)).await.unwrap();
        assert_eq!(attempts.len(), usize::from(there && n != 1), "{n}");
    }
    assert_eq!(store.prune(at(300), 9999).await.unwrap().messages, 299 - 5);
    assert_eq!(store.prune(at(300), 9999).await.unwrap().messages, 0);
    assert_eq!(store.prune(at(999), 9999).await.unwrap().messages, 102);
    assert_eq!(names(&store.open_deliveries(None, 9).await.unwrap()), to_first(&[1, 7]));
}

pub(crate) async fn pruning_looks_again_at_what_has_finished_since(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=4).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    store.settle(fence, vec![settled(3, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(at(99), 9).await.unwrap().messages, 1);
    store.settle(fence, vec![settled(2, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(at(99), 9).await.unwrap().messages, 1);
    store.delete_endpoint(ep(1), at(10)).await.unwrap();
    assert_eq!(store.prune(at(99), 9).await.unwrap().messages, 2);
}

pub(crate) async fn pruned_keys_can_be_used_again(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1], "k")]).await.unwrap();
    store.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
    store.prune(at(9), 1).await.unwrap();
    let again = store.accept(vec![keyed(2, 1, &[1], "k")]).await.unwrap();
    assert_eq!((again[0].id, again[0].repeated), (msg(2), false));
}

//! Replaying and pruning.

use stagger::Verdict;
use stagger_scheduler::model::DeliveryState::{Cancelled, Dead, Delivered, Pending, Waiting};

use super::suite::{names, to_first};
use crate::testing::fixture::{app, at, attempt, ep, furnish, keyed, message, msg, settled};
use crate::{DeliveryFilter, DeliveryStore, ReplayRequest, Settlement};

pub(crate) async fn pruning_takes_finished_messages_oldest_first(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=400).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    let made = |n| Settlement {
        attempt: Some(attempt(n, 1, 1, Verdict::Ok)),
        ..settled(n, 1, 1, Delivered, 500)
    };
    store.settle(fence, (2..=400).filter(|n| *n != 7).map(made).collect()).await.unwrap();
    store.accept(vec![message(401, 2, &[])]).await.unwrap();
    assert_eq!(store.prune(None, at(2), 9).await.unwrap().messages, 0);
    assert_eq!(store.prune(None, at(300), 3).await.unwrap().messages, 3);
    for (n, there) in [(1, true), (2, false), (3, false), (4, false), (5, true)] {
        assert_eq!(store.message(msg(n)).await.unwrap().is_some(), there, "{n}");
        assert_eq!(store.payload(msg(n)).await.unwrap().is_some(), there, "{n}");
        assert_eq!(store.delivery(msg(n), ep(1)).await.unwrap().is_some(), there, "{n}");
        let attempts = store.attempts(msg(n), ep(1)).await.unwrap();
        assert_eq!(attempts.len(), usize::from(there && n != 1), "{n}");
    }
    assert_eq!(store.prune(None, at(300), 9999).await.unwrap().messages, 299 - 5);
    assert_eq!(store.prune(None, at(300), 9999).await.unwrap().messages, 0);
    assert_eq!(store.prune(None, at(999), 9999).await.unwrap().messages, 102);
    assert_eq!(names(&store.open_deliveries(None, 9).await.unwrap()), to_first(&[1, 7]));
}

pub(crate) async fn pruning_looks_again_at_what_has_finished_since(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=4).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    store.settle(fence, vec![settled(3, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(None, at(99), 9).await.unwrap().messages, 1);
    store.settle(fence, vec![settled(2, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(None, at(99), 9).await.unwrap().messages, 1);
    store.delete_endpoint(ep(1), at(10)).await.unwrap();
    assert_eq!(store.prune(None, at(99), 9).await.unwrap().messages, 2);
}

pub(crate) async fn pruned_keys_can_be_used_again(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1], "k")]).await.unwrap();
    store.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
    store.prune(None, at(9), 1).await.unwrap();
    let again = store.accept(vec![keyed(2, 1, &[1], "k")]).await.unwrap();
    assert_eq!((again[0].id, again[0].repeated), (msg(2), false));
}

pub(crate) async fn a_finished_message_is_deleted_with_all_of_it(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1, 2], "k"), message(2, 1, &[1])]).await.unwrap();
    let made = |to| Settlement {
        attempt: Some(attempt(1, to, 1, Verdict::Ok)),
        ..settled(1, to, 1, Delivered, 5)
    };
    store.settle(fence, vec![made(1)]).await.unwrap();
    let refused = store.delete_message(msg(1)).await.unwrap_err();
    assert!(refused.is_conflict(), "a delivery is open");
    assert!(store.payload(msg(1)).await.unwrap().is_some());
    store.settle(fence, vec![made(2)]).await.unwrap();
    assert!(store.delete_message(msg(1)).await.unwrap());
    assert!(
        !store.delete_message(msg(1)).await.unwrap()
            && !store.delete_message(msg(9)).await.unwrap()
    );
    assert_eq!(store.message(msg(1)).await.unwrap(), None);
    assert_eq!(store.payload(msg(1)).await.unwrap(), None);
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap(), []);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap(), []);
    let counts = store.counts(None).await.unwrap();
    assert_eq!((counts.of(Delivered), counts.of(Pending)), (0, 1));
    // A late settlement brings nothing back, and the key is free.
    store.settle(fence, vec![made(1)]).await.unwrap();
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap(), []);
    let again = store.accept(vec![keyed(3, 1, &[1], "k")]).await.unwrap();
    assert!(!again[0].repeated);
}

pub(crate) async fn pruning_of_one_application_leaves_the_others(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    let (one, other) = (|n| message(n, 1, &[1]), |n| message(n, 2, &[3]));
    let all = (1..=600).map(|n| if n % 3 == 0 { one(n) } else { other(n) });
    store.accept(all.collect()).await.unwrap();
    let made = |n, to, of| Settlement {
        attempt: Some(attempt(n, to, 1, Verdict::Ok)),
        ..settled(n, to, of, Delivered, 700)
    };
    let over = (1..=600).filter(|n| *n != 300);
    let over = over.map(|n| if n % 3 == 0 { made(n, 1, 1) } else { made(n, 3, 2) });
    store.settle(fence, over.collect()).await.unwrap();
    assert_eq!(store.prune(Some(app(1)), at(10), 2).await.unwrap().messages, 2);
    assert_eq!(store.prune(Some(app(1)), at(10), 9).await.unwrap().messages, 1);
    assert_eq!(store.prune(Some(app(1)), at(500), 9999).await.unwrap().messages, 166 - 3 - 1);
    assert_eq!(store.prune(Some(app(1)), at(500), 9999).await.unwrap().messages, 0);
    for (n, to, there) in
        [(3, 1, false), (4, 3, true), (300, 1, true), (498, 1, false), (501, 1, true)]
    {
        assert_eq!(store.message(msg(n)).await.unwrap().is_some(), there, "{n}");
        assert_eq!(store.payload(msg(n)).await.unwrap().is_some(), there, "{n}");
        let attempts = store.attempts(msg(n), ep(to)).await.unwrap();
        assert_eq!(attempts.len(), usize::from(there && n != 300), "{n}");
    }
    store.settle(fence, vec![made(300, 1, 1)]).await.unwrap();
    assert_eq!(store.prune(Some(app(1)), at(500), 9999).await.unwrap().messages, 1);
    assert_eq!(store.prune(None, at(500), 9999).await.unwrap().messages, 333);
    assert_eq!(store.prune(Some(app(2)), at(999), 9999).await.unwrap().messages, 67);
    assert_eq!(store.prune(None, at(999), 9999).await.unwrap().messages, 34);
}

pub(crate) async fn a_payload_is_deleted_with_the_replies_and_nothing_else(
    store: &dyn DeliveryStore,
) {
    let fence = furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1, 2], "k"), message(2, 1, &[1])]).await.unwrap();
    // Failed attempts have replies.
    let made = |n, to| Settlement {
        attempt: Some(attempt(n, to, 1, Verdict::Transient)),
        ..settled(n, to, 1, Delivered, 5)
    };
    store.settle(fence, vec![made(1, 1), made(2, 1)]).await.unwrap();
    assert!(store.delete_payload(msg(1)).await.unwrap_err().is_conflict(), "a delivery is open");
    assert!(store.payload(msg(1)).await.unwrap().is_some());
    store.settle(fence, vec![made(1, 2)]).await.unwrap();
    let (before, of_other) =
        (store.message(msg(1)).await.unwrap(), store.payload(msg(2)).await.unwrap());
    let attempts = store.attempts(msg(1), ep(2)).await.unwrap();
    assert!(!attempts[0].reply.is_empty());
    for _ in 0..2 {
        assert!(store.delete_payload(msg(1)).await.unwrap());
        assert_eq!(store.payload(msg(1)).await.unwrap(), None);
    }
    assert!(!store.delete_payload(msg(9)).await.unwrap());
    assert_eq!(store.message(msg(1)).await.unwrap(), before);
    for to in [1, 2] {
        let left = store.attempts(msg(1), ep(to)).await.unwrap();
        assert_eq!((left.len(), left[0].status, left[0].reply.len()), (1, attempts[0].status, 0));
    }
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap().len(), 2);
    // Nothing of another message is taken for it, whatever the store has reused.
    store.accept(vec![message(3, 1, &[1])]).await.unwrap();
    assert_eq!(store.payload(msg(1)).await.unwrap(), None);
    assert_eq!(store.payload(msg(2)).await.unwrap(), of_other);
    assert!(store.payload(msg(3)).await.unwrap().is_some());
    let again = store.accept(vec![keyed(4, 1, &[1], "k")]).await.unwrap();
    assert!(again[0].repeated, "its key is taken still");
    assert!(store.delete_message(msg(1)).await.unwrap());
    assert!(store.payload(msg(3)).await.unwrap().is_some());
}

pub(crate) async fn one_delivery_is_replayed_unless_it_is_open(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=4).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let ends = [(1, Dead), (2, Delivered), (3, Cancelled)].map(|(n, s)| settled(n, 1, 1, s, 9));
    store.settle(fence, ends.to_vec()).await.unwrap();
    for n in 1..=3 {
        let one = ReplayRequest::One(msg(n), ep(1));
        let replayed = store.replay(one.clone(), at(50), 1).await.unwrap();
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
    assert_eq!(names(&store.replay(all.clone(), at(40), 3).await.unwrap()), to_first(&[1, 3, 5]));
    assert_eq!(names(&store.replay(all.clone(), at(40), 3).await.unwrap()), to_first(&[7]));
    assert_eq!(store.replay(all.clone(), at(40), 3).await.unwrap(), []);
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
    assert_eq!(replay(second.clone()).await.unwrap(), []);
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
    assert_eq!(names(&store.replay(all.clone(), at(40), 2).await.unwrap()), to_first(&[1, 2]));
    let mut again = settled(1, 1, 1, Dead, 41);
    again.delivery.as_mut().unwrap().replays = 1;
    store.settle(fence, vec![again]).await.unwrap();
    assert_eq!(names(&store.replay(all.clone(), at(40), 2).await.unwrap()), to_first(&[3]));
    assert_eq!(names(&store.replay(all.clone(), at(42), 2).await.unwrap()), to_first(&[1]));
}

pub(crate) async fn waiting_deliveries_become_due_and_stay_as_they_are(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=5).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    let states = [(1, Waiting), (2, Delivered), (3, Dead), (4, Waiting)];
    let settlements = states.map(|(n, state)| settled(n, 1, 1, state, 9)).to_vec();
    store.settle(fence, settlements).await.unwrap();
    let all = ReplayRequest::Waiting(app(1), DeliveryFilter::default());
    let before = store.delivery(msg(4), ep(1)).await.unwrap().unwrap();
    let due = store.replay(all.clone(), at(50), 9).await.unwrap();
    assert_eq!(names(&due), to_first(&[1, 4]));
    assert_eq!(store.delivery(msg(4), ep(1)).await.unwrap(), due.get(1).copied());
    let call = due[1].call.unwrap();
    assert_eq!((due[1].state, due[1].due, due[1].updated_at), (Waiting, at(50), at(9)));
    assert_eq!((due[1].attempts, due[1].replays), (before.attempts, before.replays));
    assert_eq!(call.attempts, before.call.unwrap().attempts);
    assert_eq!(store.replay(all, at(50), 9).await.unwrap(), []);
    assert_eq!(store.delivery(msg(3), ep(1)).await.unwrap().unwrap().state, Dead);
    assert_eq!(store.delivery(msg(5), ep(1)).await.unwrap().unwrap().state, Pending);
}

pub(crate) async fn retries_of_many_follow_their_filter_and_come_to_an_end(
    store: &dyn DeliveryStore,
) {
    let fence = furnish(store).await;
    store.accept((1..=8).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let failed = (1..=8).flat_map(|n| [1, 2].map(|to| settled(n, to, 1, Waiting, 30)));
    store.settle(fence, failed.collect()).await.unwrap();
    let to_one = DeliveryFilter {
        endpoint: Some(ep(1)),
        event_type: Some("even".parse().unwrap()),
        since: Some(at(3)),
        ..DeliveryFilter::default()
    };
    let retry = |filter, limit| store.replay(ReplayRequest::Waiting(app(1), filter), at(40), limit);
    let dead = DeliveryFilter { state: Some(Dead), ..DeliveryFilter::default() };
    assert_eq!(retry(dead, 99).await.unwrap(), []);
    assert_eq!(names(&retry(to_one, 99).await.unwrap()), to_first(&[4, 6, 8]));
    let mut found = Vec::new();
    loop {
        let some = names(&retry(DeliveryFilter::default(), 3).await.unwrap());
        if some.is_empty() {
            break;
        }
        assert!(some.len() <= 3);
        // What fails again meanwhile is not retried again.
        store.settle(fence, vec![settled(1, 1, 1, Waiting, 41)]).await.unwrap();
        found.extend(some);
    }
    assert_eq!(found.len(), 13);
    store.delete_endpoint(ep(1), at(42)).await.unwrap();
    let again = ReplayRequest::Waiting(app(1), DeliveryFilter::default());
    let left = store.replay(again, at(45), 99).await.unwrap();
    assert!(left.iter().all(|delivery| delivery.endpoint == ep(2)));
}

pub(crate) async fn an_endpoint_gets_the_messages_that_it_has_missed(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=4).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    store.accept(vec![message(5, 2, &[3]), message(6, 1, &[1, 2])]).await.unwrap();
    store.settle(fence, (1..=4).map(|n| settled(n, 1, 1, Delivered, 9)).collect()).await.unwrap();
    let wanted = [6, 5, 4, 2, 2, 99].map(msg).to_vec();
    let missing = ReplayRequest::Missing(ep(2), wanted.clone());
    let added = store.replay(missing.clone(), at(50), 99).await.unwrap();
    assert_eq!(names(&added), [(msg(2), ep(2)), (msg(4), ep(2))]);
    for delivery in &added {
        let stored = store.delivery(delivery.message, ep(2)).await.unwrap().unwrap();
        assert_eq!(stored, *delivery);
        assert_eq!((stored.state, stored.due, stored.attempts), (Pending, at(50), 0));
        assert_eq!((stored.replays, stored.application), (1, app(1)));
    }
    assert_eq!(store.replay(missing, at(51), 99).await.unwrap(), []);
    assert_eq!(store.counts(Some(ep(2))).await.unwrap().of(Pending), 3);
    store.delete_endpoint(ep(2), at(60)).await.unwrap();
    let gone = store.replay(ReplayRequest::Missing(ep(2), wanted), at(61), 99).await;
    assert!(gone.unwrap_err().is_not_found());
}

//! What every store promises: the same checks for each.

use stagger::{Span, Verdict};

use super::fixture::{
    app, application, at, attempt, delivery, endpoint, ep, furnish, keyed, message, msg, page,
    settled,
};
use super::{
    Counts, Cursor, DeliveryFilter, Fence, MessageFilter, PageRequest, ReplayRequest, Settlement,
    Store,
};
use crate::model::{
    Delivery, DeliveryState, Disabled, Ending, EndpointId, Message, MessageId, Opened, Standing,
};

/// Runs all checks on the store that an expression opens.
macro_rules! suite {
    ($open:expr) => {
        $crate::store::conformance::each! { $open;
            applications_come_back_as_they_were,
            endpoints_come_back_as_they_were_and_keep_their_standing,
            what_is_accepted_is_there,
            a_repeated_key_answers_the_first_id,
            equal_keys_within_one_batch_are_one_message,
            keys_of_two_applications_are_apart,
            an_id_that_is_there_is_not_stored_again,
            accepts_of_one_key_at_once_store_one,
            a_settlement_is_written_whole,
            a_stale_run_changes_nothing,
            a_finished_delivery_stays_finished,
            settlements_of_what_is_gone_are_left_out,
            attempts_come_back_in_order_as_they_were,
            open_deliveries_are_paged_in_order,
            messages_are_paged_newest_first,
            messages_are_filtered,
            deliveries_are_paged_newest_first,
            deliveries_are_filtered,
            a_deleted_endpoint_cancels_what_is_open_and_what_comes_later,
            a_deleted_application_leaves_nothing_and_gets_nothing,
            one_delivery_is_replayed_unless_it_is_open,
            replays_of_many_take_the_dead_oldest_first,
            replays_of_many_follow_their_filter,
            replays_of_many_come_to_an_end,
            pruning_takes_finished_messages_oldest_first,
            pruning_looks_again_at_what_has_finished_since,
            pruned_keys_can_be_used_again,
            counts_follow_every_change,
            an_open_store_can_write,
        }
    };
}

macro_rules! each {
    ($open:expr; $($check:ident,)*) => {$(
        #[tokio::test]
        async fn $check() {
            let store = $open;
            $crate::store::conformance::$check(&*store).await;
        }
    )*};
}

pub(crate) use {each, suite};

use DeliveryState::{Cancelled, Dead, Delivered, Pending, Waiting};

pub(crate) async fn applications_come_back_as_they_were(store: &dyn Store) {
    let (second, mut first) = (application(2), application(1));
    store.put_application(second.clone()).await.unwrap();
    store.put_application(first.clone()).await.unwrap();
    first.name = "renamed".into();
    first.keys.clear();
    store.put_application(first.clone()).await.unwrap();
    assert_eq!(store.applications().await.unwrap(), [first, second]);
}

pub(crate) async fn endpoints_come_back_as_they_were_and_keep_their_standing(store: &dyn Store) {
    let fence = furnish(store).await;
    let standing = Standing {
        disabled: Some(Disabled::Gone),
        failing_since: Some(at(3)),
        paused_until: Some(at(4)),
        open: Some(Opened { until: at(5), open_time: Span::from_secs(6) }),
        recovering_since: Some(at(7)),
    };
    let learned = Settlement { standing: Some((ep(1), standing)), ..Settlement::default() };
    store.settle(fence, vec![learned]).await.unwrap();
    let mut changed = endpoint(1, 1);
    changed.url = "https://example.com/other".into();
    store.put_endpoint(changed.clone()).await.unwrap();
    let expected = [
        (changed, standing),
        (endpoint(2, 1), Standing::default()),
        (endpoint(3, 2), Standing::default()),
    ];
    assert_eq!(store.endpoints().await.unwrap(), expected);
}

pub(crate) async fn what_is_accepted_is_there(store: &dyn Store) {
    furnish(store).await;
    let (first, second) = (message(10, 1, &[1, 2]), message(11, 2, &[]));
    let accepted = store.accept(vec![first.clone(), second.clone()]).await.unwrap();
    assert_eq!(accepted.iter().map(|a| a.id).collect::<Vec<_>>(), [msg(10), msg(11)]);
    assert!(accepted.iter().all(|a| !a.repeated));
    assert_eq!(store.message(msg(10)).await.unwrap(), Some(first.message));
    assert_eq!(store.payload(msg(10)).await.unwrap(), Some(first.payload));
    assert_eq!(store.message(msg(12)).await.unwrap(), None);
    assert_eq!(store.payload(msg(12)).await.unwrap(), None);
    let new = |to| Delivery::new(msg(10), ep(to), app(1), at(10));
    assert_eq!(store.deliveries_of(msg(10)).await.unwrap(), [new(1), new(2)]);
    assert_eq!(store.delivery(msg(10), ep(2)).await.unwrap(), Some(new(2)));
    assert_eq!(store.delivery(msg(10), ep(3)).await.unwrap(), None);
    assert_eq!(store.open_deliveries(None, 9).await.unwrap(), [new(1), new(2)]);
    assert_eq!(store.deliveries_of(msg(11)).await.unwrap(), []);
}

pub(crate) async fn a_repeated_key_answers_the_first_id(store: &dyn Store) {
    furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1], "order 7")]).await.unwrap();
    let again = store.accept(vec![keyed(2, 1, &[1, 2], "order 7")]).await.unwrap();
    assert_eq!((again[0].id, again[0].repeated), (msg(1), true));
    assert_eq!(store.message(msg(2)).await.unwrap(), None);
    assert_eq!(store.open_deliveries(None, 9).await.unwrap().len(), 1);
}

pub(crate) async fn equal_keys_within_one_batch_are_one_message(store: &dyn Store) {
    furnish(store).await;
    let batch = vec![keyed(1, 1, &[1], "k"), keyed(2, 1, &[1], "other"), keyed(3, 1, &[1], "k")];
    let accepted = store.accept(batch).await.unwrap();
    let answers: Vec<_> = accepted.iter().map(|a| (a.id, a.repeated)).collect();
    assert_eq!(answers, [(msg(1), false), (msg(2), false), (msg(1), true)]);
    assert_eq!(store.message(msg(3)).await.unwrap(), None);
}

pub(crate) async fn keys_of_two_applications_are_apart(store: &dyn Store) {
    furnish(store).await;
    let batch = vec![keyed(1, 1, &[1], "k"), keyed(2, 2, &[3], "k")];
    assert!(store.accept(batch).await.unwrap().iter().all(|a| !a.repeated));
}

pub(crate) async fn an_id_that_is_there_is_not_stored_again(store: &dyn Store) {
    furnish(store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    let again = store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    assert_eq!((again[0].id, again[0].repeated), (msg(1), true));
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap().len(), 1);
}

pub(crate) async fn accepts_of_one_key_at_once_store_one(store: &dyn Store) {
    furnish(store).await;
    let accept = |n| store.accept(vec![keyed(n, 1, &[1], "k")]);
    let (a, b, c) = tokio::join!(accept(1), accept(2), accept(3));
    let answers = [a, b, c].map(|answer| answer.unwrap()[0]);
    assert_eq!(answers.iter().filter(|a| !a.repeated).count(), 1);
    assert!(answers.iter().all(|a| a.id == answers[0].id));
    assert_eq!(store.open_deliveries(None, 9).await.unwrap().len(), 1);
}

pub(crate) async fn a_settlement_is_written_whole(store: &dyn Store) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    let failed = Settlement {
        delivery: Some(delivery(1, 1, 1, Waiting, 5)),
        attempt: Some(attempt(1, 1, 1, Verdict::Throttled)),
        standing: Some((ep(1), Standing { paused_until: Some(at(9)), ..Standing::default() })),
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

pub(crate) async fn a_stale_run_changes_nothing(store: &dyn Store) {
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

pub(crate) async fn a_finished_delivery_stays_finished(store: &dyn Store) {
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

pub(crate) async fn settlements_of_what_is_gone_are_left_out(store: &dyn Store) {
    let fence = furnish(store).await;
    let gone = Settlement {
        delivery: Some(delivery(1, 1, 1, Waiting, 5)),
        attempt: Some(attempt(1, 1, 1, Verdict::Transient)),
        standing: Some((ep(9), Standing::default())),
        operational: None,
    };
    store.settle(fence, vec![gone]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap(), None);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap(), []);
    assert_eq!(store.endpoints().await.unwrap().len(), 3);
    assert_eq!(store.counts(None).await.unwrap(), Counts::default());
}

pub(crate) async fn attempts_come_back_in_order_as_they_were(store: &dyn Store) {
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

pub(crate) async fn open_deliveries_are_paged_in_order(store: &dyn Store) {
    let fence = furnish(store).await;
    let batch = [4, 2, 3, 1].map(|n| message(n, 1, &[2, 1]));
    store.accept(batch.to_vec()).await.unwrap();
    let done = vec![settled(2, 1, 1, Dead, 9), settled(3, 2, 1, Waiting, 9)];
    store.settle(fence, done).await.unwrap();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.open_deliveries(after, 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(Cursor::of_delivery(last));
        found.extend(names(&page));
    }
    let expected = [(1, 1), (1, 2), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2)];
    assert_eq!(found, expected.map(|(n, to)| (msg(n), ep(to))));
}

pub(crate) async fn messages_are_paged_newest_first(store: &dyn Store) {
    furnish(store).await;
    for n in [3, 1, 5, 2, 4] {
        store.accept(vec![message(n, 1, &[1]), message(n + 10, 2, &[3])]).await.unwrap();
    }
    let first = store.messages(app(1), MessageFilter::default(), page(2)).await.unwrap();
    assert_eq!(ids(&first.items), [msg(5), msg(4)]);
    let next = PageRequest { after: first.next, limit: 2 };
    store.accept(vec![message(6, 1, &[1])]).await.unwrap();
    let second = store.messages(app(1), MessageFilter::default(), next).await.unwrap();
    assert_eq!(ids(&second.items), [msg(3), msg(2)]);
    let last = PageRequest { after: second.next, limit: 2 };
    let third = store.messages(app(1), MessageFilter::default(), last).await.unwrap();
    assert_eq!((ids(&third.items), third.next), (vec![msg(1)], None));
    let whole = store.messages(app(1), MessageFilter::default(), page(6)).await.unwrap();
    assert_eq!((whole.items.len(), whole.next), (6, None));
}

pub(crate) async fn messages_are_filtered(store: &dyn Store) {
    furnish(store).await;
    store.accept((1..=9).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    // Its id says another time than that of its acceptance.
    let mut odd = message(20, 1, &[]);
    odd.message.created_at = at(4);
    store.accept(vec![odd]).await.unwrap();
    let filter = MessageFilter {
        event_type: Some("even".parse().unwrap()),
        since: Some(at(3)),
        until: Some(at(8)),
    };
    assert_eq!(all_messages(store, filter).await, [20, 6, 4].map(msg));
    let filter = MessageFilter { until: Some(at(2)), ..MessageFilter::default() };
    assert_eq!(all_messages(store, filter).await, [msg(1)]);
    let filter = MessageFilter { since: Some(at(9)), ..MessageFilter::default() };
    assert_eq!(all_messages(store, filter).await, [msg(9)]);
}

pub(crate) async fn deliveries_are_paged_newest_first(store: &dyn Store) {
    furnish(store).await;
    store.accept((1..=3).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    store.accept(vec![message(4, 2, &[3])]).await.unwrap();
    let of_one = all_deliveries(store, Some(1), DeliveryFilter::default()).await;
    let expected = [(3, 2), (3, 1), (2, 2), (2, 1), (1, 2), (1, 1)].map(|(n, e)| (msg(n), ep(e)));
    assert_eq!(of_one, expected);
    let of_all = all_deliveries(store, None, DeliveryFilter::default()).await;
    assert_eq!(of_all[0], (msg(4), ep(3)));
    assert_eq!(of_all[1..], expected);
}

pub(crate) async fn deliveries_are_filtered(store: &dyn Store) {
    let fence = furnish(store).await;
    store.accept((1..=6).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    store.accept(vec![message(7, 2, &[3])]).await.unwrap();
    let states = [(1, Dead), (2, Dead), (3, Cancelled), (4, Waiting), (5, Delivered)];
    let ends = states.map(|(n, state)| settled(n, 1, 1, state, 9));
    store.settle(fence, ends.to_vec()).await.unwrap();
    let other = settled(7, 3, 2, Dead, 9);
    store.settle(fence, vec![other]).await.unwrap();
    for (state, of_one) in
        [(Dead, vec![2, 1]), (Cancelled, vec![3]), (Waiting, vec![4]), (Delivered, vec![5])]
    {
        let filter = DeliveryFilter { state: Some(state), ..DeliveryFilter::default() };
        let expected: Vec<_> = of_one.iter().map(|n| (msg(*n), ep(1))).collect();
        assert_eq!(all_deliveries(store, Some(1), filter).await, expected, "{state:?}");
        let of_endpoint = DeliveryFilter { endpoint: Some(ep(1)), ..filter };
        assert_eq!(all_deliveries(store, Some(1), of_endpoint).await, expected, "{state:?}");
        assert_eq!(all_deliveries(store, None, of_endpoint).await, expected, "{state:?}");
        assert_eq!(all_deliveries(store, Some(2), of_endpoint).await, [], "{state:?}");
    }
    let dead = DeliveryFilter { state: Some(Dead), ..DeliveryFilter::default() };
    assert_eq!(all_deliveries(store, None, dead).await.len(), 3);
    let pending = DeliveryFilter { state: Some(Pending), ..DeliveryFilter::default() };
    assert_eq!(all_deliveries(store, None, pending).await.len(), 7);
    let times = DeliveryFilter { since: Some(at(2)), until: Some(at(4)), ..pending };
    let expected = [(3, 2), (2, 2)].map(|(n, to)| (msg(n), ep(to)));
    assert_eq!(all_deliveries(store, Some(1), times).await, expected);
}

pub(crate) async fn a_deleted_endpoint_cancels_what_is_open_and_what_comes_later(
    store: &dyn Store,
) {
    let fence = furnish(store).await;
    store.accept((1..=600).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    store.settle(fence, vec![settled(2, 1, 1, Delivered, 650)]).await.unwrap();
    store.delete_endpoint(ep(1), at(700)).await.unwrap();
    assert_eq!(store.endpoints().await.unwrap().len(), 2);
    store.accept(vec![message(800, 1, &[1, 2])]).await.unwrap();
    store.settle(fence, vec![settled(3, 1, 1, Waiting, 900)]).await.unwrap();
    let counts = store.counts(Some(ep(1))).await.unwrap();
    assert_eq!((counts.of(Cancelled), counts.of(Delivered), counts.of(Pending)), (600, 1, 0));
    for (n, when) in [(1, 700), (3, 700), (600, 700), (800, 800)] {
        let cancelled = store.delivery(msg(n), ep(1)).await.unwrap().unwrap();
        assert_eq!(cancelled.ending, Some(Ending::EndpointDeleted));
        assert_eq!(cancelled.updated_at, at(when));
    }
    assert_eq!(store.counts(Some(ep(2))).await.unwrap().of(Pending), 601);
}

pub(crate) async fn a_deleted_application_leaves_nothing_and_gets_nothing(store: &dyn Store) {
    let fence = furnish(store).await;
    store.accept((1..=300).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    store.accept(vec![message(301, 2, &[3])]).await.unwrap();
    let made = Settlement {
        attempt: Some(attempt(5, 1, 1, Verdict::Ok)),
        ..settled(5, 1, 1, Delivered, 400)
    };
    store.settle(fence, vec![made]).await.unwrap();
    store.delete_application(app(1)).await.unwrap();
    assert_eq!(store.applications().await.unwrap(), [application(2)]);
    assert_eq!(store.endpoints().await.unwrap().len(), 1);
    assert_eq!(store.message(msg(5)).await.unwrap(), None);
    assert_eq!(store.payload(msg(5)).await.unwrap(), None);
    assert_eq!(store.attempts(msg(5), ep(1)).await.unwrap(), []);
    assert_eq!(names(&store.open_deliveries(None, 9).await.unwrap()), [(msg(301), ep(3))]);
    let refused = store.accept(vec![message(400, 2, &[3]), message(401, 1, &[1])]).await;
    assert!(refused.unwrap_err().is_not_found());
    assert_eq!(store.message(msg(400)).await.unwrap(), None);
    assert!(store.put_endpoint(endpoint(1, 1)).await.unwrap_err().is_not_found());
    assert_eq!(store.counts(None).await.unwrap().of(Pending), 1);
}

pub(crate) async fn one_delivery_is_replayed_unless_it_is_open(store: &dyn Store) {
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

pub(crate) async fn replays_of_many_take_the_dead_oldest_first(store: &dyn Store) {
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

pub(crate) async fn replays_of_many_follow_their_filter(store: &dyn Store) {
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

pub(crate) async fn replays_of_many_come_to_an_end(store: &dyn Store) {
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

pub(crate) async fn pruning_takes_finished_messages_oldest_first(store: &dyn Store) {
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

pub(crate) async fn pruning_looks_again_at_what_has_finished_since(store: &dyn Store) {
    let fence = furnish(store).await;
    store.accept((1..=4).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
    store.settle(fence, vec![settled(3, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(at(99), 9).await.unwrap().messages, 1);
    store.settle(fence, vec![settled(2, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(at(99), 9).await.unwrap().messages, 1);
    store.delete_endpoint(ep(1), at(10)).await.unwrap();
    assert_eq!(store.prune(at(99), 9).await.unwrap().messages, 2);
}

pub(crate) async fn pruned_keys_can_be_used_again(store: &dyn Store) {
    let fence = furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1], "k")]).await.unwrap();
    store.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
    store.prune(at(9), 1).await.unwrap();
    let again = store.accept(vec![keyed(2, 1, &[1], "k")]).await.unwrap();
    assert_eq!((again[0].id, again[0].repeated), (msg(2), false));
}

pub(crate) async fn counts_follow_every_change(store: &dyn Store) {
    let fence = furnish(store).await;
    assert_eq!(store.counts(Some(ep(1))).await.unwrap(), Counts::default());
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

pub(crate) async fn an_open_store_can_write(store: &dyn Store) {
    store.check().await.unwrap();
}

async fn counted(store: &dyn Store, endpoint: Option<EndpointId>) -> [u64; 5] {
    let counts = store.counts(endpoint).await.unwrap();
    DeliveryState::ALL.map(|state| counts.of(state))
}

/// All messages of application 1 that pass, by pages of 2.
async fn all_messages(store: &dyn Store, filter: MessageFilter) -> Vec<MessageId> {
    let (mut found, mut next) = (Vec::new(), page(2));
    loop {
        let page = store.messages(app(1), filter.clone(), next).await.unwrap();
        found.extend(ids(&page.items));
        next.after = page.next;
        if next.after.is_none() {
            return found;
        }
    }
}

/// All deliveries that pass, by pages of 2.
async fn all_deliveries(
    store: &dyn Store,
    of: Option<u64>,
    filter: DeliveryFilter,
) -> Vec<(MessageId, EndpointId)> {
    let (mut found, mut next) = (Vec::new(), page(2));
    loop {
        let page = store.deliveries(of.map(app), filter, next).await.unwrap();
        found.extend(names(&page.items));
        next.after = page.next;
        if next.after.is_none() {
            return found;
        }
    }
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}

fn names(deliveries: &[Delivery]) -> Vec<(MessageId, EndpointId)> {
    deliveries.iter().map(|delivery| (delivery.message, delivery.endpoint)).collect()
}

fn to_first(messages: &[u64]) -> Vec<(MessageId, EndpointId)> {
    messages.iter().map(|n| (msg(*n), ep(1))).collect()
}

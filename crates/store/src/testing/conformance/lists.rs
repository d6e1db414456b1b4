//! Applications, endpoints and lists.

use stagger::{Span, Verdict};
use stagger_scheduler::model::DeliveryState::{Cancelled, Dead, Delivered, Pending, Waiting};
use stagger_scheduler::model::{
    AttemptFailure, DeliveryAttempt, DeliveryEnding, Disabled, EndpointState, Handshake,
    HandshakeResult, LastFailure, Opened,
};

use super::suite::{all_deliveries, all_messages, ids, names};
use crate::testing::fixture::{
    app, application, at, attempt, endpoint, ep, furnish, message, msg, page, settled,
};
use crate::{Cursor, DeliveryFilter, DeliveryStore, MessageFilter, PageRequest, Settlement};

pub(crate) async fn open_deliveries_are_paged_in_order(store: &dyn DeliveryStore) {
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

pub(crate) async fn messages_are_paged_newest_first(store: &dyn DeliveryStore) {
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

pub(crate) async fn messages_are_filtered(store: &dyn DeliveryStore) {
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

pub(crate) async fn deliveries_are_paged_newest_first(store: &dyn DeliveryStore) {
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

pub(crate) async fn deliveries_are_filtered(store: &dyn DeliveryStore) {
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
        assert_eq!(all_deliveries(store, Some(1), filter.clone()).await, expected, "{state:?}");
        let of_endpoint = DeliveryFilter { endpoint: Some(ep(1)), ..filter };
        assert_eq!(
            all_deliveries(store, Some(1), of_endpoint.clone()).await,
            expected,
            "{state:?}"
        );
        assert_eq!(all_deliveries(store, None, of_endpoint.clone()).await, expected, "{state:?}");
        assert_eq!(all_deliveries(store, Some(2), of_endpoint).await, [], "{state:?}");
    }
    let dead = DeliveryFilter { state: Some(Dead), ..DeliveryFilter::default() };
    assert_eq!(all_deliveries(store, None, dead).await.len(), 3);
    let pending = DeliveryFilter { state: Some(Pending), ..DeliveryFilter::default() };
    assert_eq!(all_deliveries(store, None, pending.clone()).await.len(), 7);
    let times = DeliveryFilter { since: Some(at(2)), until: Some(at(4)), ..pending };
    let expected = [(3, 2), (2, 2)].map(|(n, to)| (msg(n), ep(to)));
    assert_eq!(all_deliveries(store, Some(1), times).await, expected);
}

pub(crate) async fn deliveries_are_filtered_by_type_and_last_status(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept((1..=6).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let answered = |n, number, status| {
        let delivery = settled(n, 1, 1, if n < 4 { Dead } else { Waiting }, 9);
        let attempt = attempt(n, 1, number, Verdict::Transient);
        Settlement {
            attempt: Some(DeliveryAttempt { status, failure: None, ..attempt }),
            ..delivery
        }
    };
    // The second attempt is the last one of these deliveries.
    let first = (1..=6).map(|n| answered(n, 1, Some(500)));
    let last = (1..=6).map(|n| answered(n, 2, (n != 5).then_some(if n < 3 { 401 } else { 503 })));
    store.settle(fence, first.chain(last).collect()).await.unwrap();
    let even = DeliveryFilter {
        event_type: Some("even".parse().unwrap()),
        endpoint: Some(ep(1)),
        ..DeliveryFilter::default()
    };
    let one = |n: &[u64]| n.iter().map(|n| (msg(*n), ep(1))).collect::<Vec<_>>();
    for of in [Some(1), None] {
        assert_eq!(all_deliveries(store, of, even.clone()).await, one(&[6, 4, 2]));
        let dead = DeliveryFilter { state: Some(Dead), ..even.clone() };
        assert_eq!(all_deliveries(store, of, dead).await, one(&[2]));
        let waiting = DeliveryFilter { state: Some(Waiting), endpoint: None, ..even.clone() };
        assert_eq!(all_deliveries(store, of, waiting).await, one(&[6, 4]));
        let with = |status| DeliveryFilter { status: Some(status), ..DeliveryFilter::default() };
        assert_eq!(all_deliveries(store, of, with(500)).await, []);
        assert_eq!(all_deliveries(store, of, with(401)).await, one(&[2, 1]));
        let both = DeliveryFilter { event_type: even.event_type.clone(), ..with(503) };
        assert_eq!(all_deliveries(store, of, both).await, one(&[6, 4]));
    }
}

pub(crate) async fn open_deliveries_of_one_state_are_found_among_many_others(
    store: &dyn DeliveryStore,
) {
    let fence = furnish(store).await;
    store.accept((1..=12).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    store.accept((1..=3).map(|n| message(n + 12, 2, &[3])).collect()).await.unwrap();
    let fails = [(2, 1), (9, 1), (3, 2), (9, 2), (11, 2)];
    let failed = fails.map(|(n, to)| settled(n, to, 1, Waiting, 20)).into_iter();
    store.settle(fence, failed.chain([settled(14, 3, 2, Waiting, 20)]).collect()).await.unwrap();
    let waiting = DeliveryFilter { state: Some(Waiting), ..DeliveryFilter::default() };
    let named = |names: &[(u64, u64)]| -> Vec<_> {
        names.iter().map(|(n, to)| (msg(*n), ep(*to))).collect()
    };
    let of_one = named(&[(11, 2), (9, 2), (9, 1), (3, 2), (2, 1)]);
    assert_eq!(all_deliveries(store, Some(1), waiting.clone()).await, of_one);
    let all = [named(&[(14, 3)]), of_one].concat();
    assert_eq!(all_deliveries(store, None, waiting.clone()).await, all);
    let page = store.deliveries(Some(app(1)), waiting.clone(), page(3)).await.unwrap();
    assert_eq!(page.items.len(), 3, "a page is full while there are more");
    let to_first = DeliveryFilter { endpoint: Some(ep(1)), ..waiting };
    assert_eq!(all_deliveries(store, Some(1), to_first).await, named(&[(9, 1), (2, 1)]));
}

pub(crate) async fn applications_come_back_as_they_were(store: &dyn DeliveryStore) {
    let (second, mut first) = (application(2), application(1));
    store.put_application(second.clone()).await.unwrap();
    store.put_application(first.clone()).await.unwrap();
    first.name = "renamed".into();
    first.keys.clear();
    store.put_application(first.clone()).await.unwrap();
    assert_eq!(store.applications().await.unwrap(), [first, second]);
}

pub(crate) async fn endpoints_come_back_as_they_were_and_keep_their_standing(
    store: &dyn DeliveryStore,
) {
    let fence = furnish(store).await;
    let endpoint_state = EndpointState {
        disabled: Some(Disabled::Gone),
        failing_since: Some(at(3)),
        paused_until: Some(at(4)),
        open: Some(Opened { until: at(5), open_time: Span::from_secs(6) }),
        recovering_since: Some(at(7)),
        last_failure: Some(LastFailure {
            message: msg(8),
            at: at(9),
            status: Some(503),
            failure: Some(AttemptFailure::Connect),
        }),
        alerted_since: Some(at(10)),
        handshake: Some(Handshake {
            result: HandshakeResult::Refused { status: Some(405) },
            at: at(11),
        }),
    };
    let learned =
        Settlement { endpoint_state: Some((ep(1), endpoint_state)), ..Settlement::default() };
    store.settle(fence, vec![learned]).await.unwrap();
    let mut changed = endpoint(1, 1);
    changed.url = "https://example.com/other".into();
    store.put_endpoint(changed.clone()).await.unwrap();
    let expected = [
        (changed, endpoint_state),
        (endpoint(2, 1), EndpointState::default()),
        (endpoint(3, 2), EndpointState::default()),
    ];
    assert_eq!(store.endpoints().await.unwrap(), expected);
}

pub(crate) async fn a_deleted_endpoint_cancels_what_is_open_and_what_comes_later(
    store: &dyn DeliveryStore,
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
        assert_eq!(cancelled.ending, Some(DeliveryEnding::EndpointDeleted));
        assert_eq!(cancelled.updated_at, at(when));
    }
    assert_eq!(store.counts(Some(ep(2))).await.unwrap().of(Pending), 601);
}

pub(crate) async fn a_deleted_application_leaves_nothing_and_gets_nothing(
    store: &dyn DeliveryStore,
) {
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

//! Lists in pages.

use super::answers::{all_deliveries, all_messages, ids, names};
use crate::model::DeliveryState::{Cancelled, Dead, Delivered, Pending, Waiting};
use crate::store::testing::fixture::{app, at, ep, furnish, message, msg, page, settled};
use crate::store::{Cursor, DeliveryFilter, DeliveryStore, MessageFilter, PageRequest};

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

//! The answers of a store, in the terms of the checks.

use crate::model::{Delivery, DeliveryState, EndpointId, Message, MessageId};
use crate::store::testing::fixture::{app, ep, msg, page};
use crate::store::{DeliveryFilter, DeliveryStore, MessageFilter};

pub(super) async fn counted(store: &dyn DeliveryStore, endpoint: Option<EndpointId>) -> [u64; 5] {
    let counts = store.counts(endpoint).await.unwrap();
    DeliveryState::ALL.map(|state| counts.of(state))
}

/// All messages of application 1 that pass, by pages of 2.
pub(super) async fn all_messages(
    store: &dyn DeliveryStore,
    filter: MessageFilter,
) -> Vec<MessageId> {
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
pub(super) async fn all_deliveries(
    store: &dyn DeliveryStore,
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

pub(super) fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}

pub(super) fn names(deliveries: &[Delivery]) -> Vec<(MessageId, EndpointId)> {
    deliveries.iter().map(|delivery| (delivery.message, delivery.endpoint)).collect()
}

pub(super) fn to_first(messages: &[u64]) -> Vec<(MessageId, EndpointId)> {
    messages.iter().map(|n| (msg(*n), ep(1))).collect()
}

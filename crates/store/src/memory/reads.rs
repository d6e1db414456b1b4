//! Queries of the memory store.

use std::ops::Bound::{Excluded, Included, Unbounded};

use bytes::Bytes;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    Message, MessageId,
};
use uuid::Uuid;

use super::tables::Tables;
use crate::{Cursor, DeliveryCounts, DeliveryFilter, ListPage, MessageFilter, PageRequest};

impl Tables {
    pub(super) fn applications(&self) -> Vec<Application> {
        self.applications.values().cloned().collect()
    }

    pub(super) fn endpoints(&self) -> Vec<(Endpoint, EndpointState)> {
        self.endpoints.values().cloned().collect()
    }

    pub(super) fn message(&self, id: MessageId) -> Option<Message> {
        self.messages.get(&id).map(|(message, _)| message.clone())
    }

    pub(super) fn payload(&self, id: MessageId) -> Option<Bytes> {
        self.messages.get(&id).and_then(|(_, payload)| payload.clone())
    }

    pub(crate) fn delivery(&self, message: MessageId, endpoint: EndpointId) -> Option<Delivery> {
        self.deliveries.get(&(message, endpoint)).copied()
    }

    pub(super) fn deliveries_of(&self, message: MessageId) -> Vec<Delivery> {
        let ends = (Included((message, FIRST)), Included((message, LAST)));
        self.deliveries.range(ends).map(|(_, delivery)| *delivery).collect()
    }

    pub(super) fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Vec<DeliveryAttempt> {
        let ends = (message, endpoint, 0)..=(message, endpoint, u32::MAX);
        self.attempts.range(ends).map(|(_, attempt)| attempt.clone()).collect()
    }

    pub(super) fn counts(&self, endpoint: Option<EndpointId>) -> DeliveryCounts {
        self.counts.get(&endpoint).copied().unwrap_or_default()
    }

    pub(super) fn open_deliveries(&self, after: Option<Cursor>, limit: usize) -> Vec<Delivery> {
        let begin = after.map_or(Unbounded, |cursor| Excluded(name(cursor)));
        let open = self.open.range((begin, Unbounded)).take(limit);
        open.map(|name| self.deliveries[name]).collect()
    }

    pub(super) fn messages(
        &self,
        application: ApplicationId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> ListPage<Message> {
        let end = page.after.map_or(Unbounded, |cursor| Excluded(name(cursor).0));
        let wanted = |(message, _): &&(Message, Option<Bytes>)| {
            message.application == application && filter.passes(message)
        };
        let rows = self.messages.range((Unbounded, end)).rev().map(|(_, row)| row);
        let passing = rows.filter(wanted).map(|(message, _)| message.clone());
        gather(passing, page.limit, |message| Cursor::of_message(message.id))
    }

    pub(super) fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: &DeliveryFilter,
        page: PageRequest,
    ) -> ListPage<Delivery> {
        let end = page.after.map_or(Unbounded, |cursor| Excluded(name(cursor)));
        let wanted = |delivery: &Delivery| {
            application.is_none_or(|wanted| wanted == delivery.application)
                && self.passes(filter, delivery)
        };
        let rows = self.deliveries.range((Unbounded, end)).rev().map(|(_, row)| *row);
        gather(rows.filter(wanted), page.limit, Cursor::of_delivery)
    }

    /// Whether a delivery, its message and its last attempt pass a filter.
    pub(super) fn passes(&self, filter: &DeliveryFilter, delivery: &Delivery) -> bool {
        let message = &self.messages[&delivery.message].0;
        let attempt = (delivery.message, delivery.endpoint, delivery.attempts);
        let status = self.attempts.get(&attempt).and_then(|attempt| attempt.status);
        filter.passes(delivery)
            && filter.passes_message(message.event_type.as_str(), message.created_at)
            && filter.passes_status(status)
    }
}

const FIRST: EndpointId = EndpointId::from_uuid(Uuid::nil());
const LAST: EndpointId = EndpointId::from_uuid(Uuid::max());

const fn name(cursor: Cursor) -> (MessageId, EndpointId) {
    (MessageId::from_uuid(cursor.message), EndpointId::from_uuid(cursor.endpoint))
}

fn gather<T>(
    rows: impl Iterator<Item = T>,
    limit: usize,
    at: impl Fn(&T) -> Cursor,
) -> ListPage<T> {
    let mut items: Vec<T> = rows.take(limit + 1).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    ListPage { next: items.last().filter(|_| more).map(at), items }
}

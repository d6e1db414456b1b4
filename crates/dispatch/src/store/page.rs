//! Lists in pages: newest first, each page begins where the last one ended.

use stagger::Instant;
use uuid::Uuid;

use crate::model::{Delivery, DeliveryState, EndpointId, EventType, Message, MessageId};

/// The position of a page: after this pair of ids, in falling order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The message of the last entry.
    pub message: Uuid,
    /// Its endpoint, in lists of deliveries; else nil.
    pub endpoint: Uuid,
}

impl Cursor {
    /// After this message, in lists of messages.
    #[must_use]
    pub const fn of_message(message: MessageId) -> Self {
        Self { message: *message.as_uuid(), endpoint: Uuid::nil() }
    }

    /// After this delivery.
    #[must_use]
    pub const fn of_delivery(delivery: &Delivery) -> Self {
        Self { message: *delivery.message.as_uuid(), endpoint: *delivery.endpoint.as_uuid() }
    }
}

/// The requested page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// After this entry, or from the beginning.
    pub after: Option<Cursor>,
    /// Entries at most, from 1 to 250.
    pub limit: usize,
}

/// Some entries, and where the next page begins if there is one.
///
/// A page can be shorter than its limit, even empty, although there is a next one: a store looks at a
/// bounded number of entries for each page, however few of them pass the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage<T> {
    /// The entries.
    pub items: Vec<T>,
    /// The position of the next page.
    pub next: Option<Cursor>,
}

/// The filter of a list of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// Of this type only.
    pub event_type: Option<EventType>,
    /// Accepted at or after this.
    pub since: Option<Instant>,
    /// Accepted before this.
    pub until: Option<Instant>,
}

impl MessageFilter {
    /// Whether `message` is listed.
    #[must_use]
    pub fn passes(&self, message: &Message) -> bool {
        self.event_type.as_ref().is_none_or(|wanted| *wanted == message.event_type)
            && within(self.since, self.until, message.created_at)
    }
}

/// The filter of deliveries to list or replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// To this endpoint only.
    pub endpoint: Option<EndpointId>,
    /// In this state only.
    pub state: Option<DeliveryState>,
    /// Of messages accepted at or after this.
    pub since: Option<Instant>,
    /// Of messages accepted before this.
    pub until: Option<Instant>,
}

impl DeliveryFilter {
    /// Whether `delivery`, of a message accepted at `accepted_at`, is listed.
    #[must_use]
    pub fn passes(&self, delivery: &Delivery, accepted_at: Instant) -> bool {
        self.endpoint.is_none_or(|wanted| wanted == delivery.endpoint)
            && self.state.is_none_or(|wanted| wanted == delivery.state)
            && within(self.since, self.until, accepted_at)
    }
}

fn within(since: Option<Instant>, until: Option<Instant>, at: Instant) -> bool {
    since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
}

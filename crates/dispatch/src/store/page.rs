//! Lists in pages: newest first, each page begins where the last one ended.

use stagger::Instant;
use uuid::Uuid;

use crate::model::{DeliveryState, EndpointId, EventType};

/// Where a page begins: after this pair of ids, in falling order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The message of the last entry.
    pub message: Uuid,
    /// Its endpoint, in lists of deliveries; else nil.
    pub endpoint: Uuid,
}

/// Which page is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// After this entry, or from the beginning.
    pub after: Option<Cursor>,
    /// Entries at most, from 1 to 250.
    pub limit: usize,
}

/// Some entries, and where the next page begins if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries.
    pub items: Vec<T>,
    /// Where the next page begins.
    pub next: Option<Cursor>,
}

/// Which messages are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// Of this type only.
    pub event_type: Option<EventType>,
    /// Accepted at or after this.
    pub since: Option<Instant>,
    /// Accepted before this.
    pub until: Option<Instant>,
}

/// Which deliveries are listed or replayed.
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

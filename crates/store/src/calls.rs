//! The requests and the results of calls to a store: settlements, filters and pages among them.

use stagger::Instant;
use stagger_scheduler::QueueChange;
use stagger_scheduler::leadership::Fence;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, DeliveryState, Endpoint, EndpointId,
    EndpointState, EventType, Message, MessageId, NewMessage,
};
use uuid::Uuid;

use crate::{DocumentKey, Error, SettingDocument};

/// The result of accepting a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its name, or that of the first with its key.
    pub id: MessageId,
    /// Whether it was there before, so that nothing was stored.
    pub repeated: bool,
}

/// The deliveries to make pending again, or to attempt before their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayRequest {
    /// This one, whatever its state, unless it is open already.
    One(MessageId, EndpointId),
    /// The dead deliveries of an application that pass a filter; only delivered ones if the
    /// filter's state says so. The filter's endpoint and times apply.
    Many(ApplicationId, DeliveryFilter),
    /// The waiting deliveries of an application that pass a filter: they become due, and stay as they
    /// are otherwise. A filter with another state selects none.
    Waiting(ApplicationId, DeliveryFilter),
    /// New deliveries to an endpoint, of those of these messages of its application that have none to
    /// it. They count as replayed once.
    Missing(EndpointId, Vec<MessageId>),
}

/// The change that a request for many makes to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redelivery {
    /// A finished delivery becomes pending.
    Replay,
    /// A waiting delivery becomes due.
    Retry,
}

impl Redelivery {
    /// The filter with the state of the deliveries that are changed; `None` when it names a state
    /// that cannot be.
    pub(super) fn narrow(self, filter: &DeliveryFilter) -> Option<DeliveryFilter> {
        let state = match (self, filter.state) {
            (Self::Replay, None | Some(DeliveryState::Dead)) => DeliveryState::Dead,
            (Self::Replay, Some(DeliveryState::Delivered)) => DeliveryState::Delivered,
            (Self::Retry, None | Some(DeliveryState::Waiting)) => DeliveryState::Waiting,
            (_, Some(_)) => return None,
        };
        Some(DeliveryFilter { state: Some(state), ..filter.clone() })
    }

    /// Whether a delivery can be changed, and was not changed after `now`.
    pub(super) fn applies(self, delivery: &Delivery, now: Instant) -> bool {
        let state = match self {
            Self::Replay => !delivery.state.is_open(),
            Self::Retry => delivery.state == DeliveryState::Waiting && delivery.due > now,
        };
        state && delivery.updated_at <= now
    }

    /// The changed delivery.
    pub(super) fn change(self, delivery: Delivery, now: Instant) -> Delivery {
        match self {
            Self::Replay => delivery.replayed(now),
            Self::Retry => delivery.made_due(now),
        }
    }

    /// Whether a delivery is the result of a change at `now`.
    pub(super) fn is_made(self, delivery: &Delivery, now: Instant) -> bool {
        match self {
            Self::Replay => {
                delivery.state == DeliveryState::Pending
                    && (delivery.updated_at, delivery.due) == (now, now)
            }
            Self::Retry => delivery.state == DeliveryState::Waiting && delivery.due == now,
        }
    }
}

/// A setting to write.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are endpoints, and few are there at a time"
)]
pub enum SettingWrite {
    /// An application, new or changed.
    PutApplication(Application),
    /// The end of an application and everything of it.
    DeleteApplication(ApplicationId),
    /// The settings of an endpoint, new or changed.
    PutEndpoint(Endpoint),
    /// The end of an endpoint, and its time.
    DeleteEndpoint(EndpointId, Instant),
    /// A document of the installation, new or changed.
    PutDocument(SettingDocument),
    /// The end of a document.
    DeleteDocument(DocumentKey),
}

/// Deliveries by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    by_state: [u64; DeliveryState::ALL.len()],
}

impl DeliveryCounts {
    /// The number of deliveries in `state`.
    #[must_use]
    pub const fn of(&self, state: DeliveryState) -> u64 {
        self.by_state[state as usize]
    }

    /// Says how many are in `state`.
    pub const fn set(&mut self, state: DeliveryState, count: u64) {
        self.by_state[state as usize] = count;
    }
}

/// The contents of a store without damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The version of its tables.
    pub version: u32,
    /// Messages in it.
    pub messages: u64,
    /// Deliveries in it, by state.
    pub deliveries: DeliveryCounts,
}

/// The number of rows that a pruning deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Messages, each with its payload, deliveries and attempts.
    pub messages: usize,
}

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

/// The filter of deliveries to list, to replay or to retry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// To this endpoint only.
    pub endpoint: Option<EndpointId>,
    /// In this state only.
    pub state: Option<DeliveryState>,
    /// Of messages of this type only.
    pub event_type: Option<EventType>,
    /// Only those whose last attempt was answered with this status.
    pub status: Option<u16>,
    /// Of messages accepted at or after this.
    pub since: Option<Instant>,
    /// Of messages accepted before this.
    pub until: Option<Instant>,
}

impl DeliveryFilter {
    /// Whether `delivery` has the endpoint and the state that the filter asks for.
    #[must_use]
    pub fn passes(&self, delivery: &Delivery) -> bool {
        self.endpoint.is_none_or(|wanted| wanted == delivery.endpoint)
            && self.state.is_none_or(|wanted| wanted == delivery.state)
    }

    /// Whether the filter asks for facts of the message.
    #[must_use]
    pub fn asks_for_message(&self) -> bool {
        self.event_type.is_some() || self.since.or(self.until).is_some()
    }

    /// Whether a message of this type, accepted at `accepted_at`, has the facts that the filter asks
    /// for.
    #[must_use]
    pub fn passes_message(&self, event_type: &str, accepted_at: Instant) -> bool {
        self.event_type.as_ref().is_none_or(|wanted| wanted.as_str() == event_type)
            && within(self.since, self.until, accepted_at)
    }

    /// Whether a delivery whose last attempt has this status is one that the filter asks for.
    #[must_use]
    pub fn passes_status(&self, status: Option<u16>) -> bool {
        self.status.is_none_or(|wanted| status == Some(wanted))
    }
}

fn within(since: Option<Instant>, until: Option<Instant>, at: Instant) -> bool {
    since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
}

/// One settled attempt, or another change to a delivery or an endpoint: all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// The delivery as it is now.
    pub delivery: Option<Delivery>,
    /// The attempt that was made.
    pub attempt: Option<DeliveryAttempt>,
    /// The learned state of the endpoint.
    pub endpoint_state: Option<(EndpointId, EndpointState)>,
    /// The operational messages about it: to its application, and to the operator's.
    pub operational: Vec<NewMessage>,
}

impl From<QueueChange> for Settlement {
    fn from(change: QueueChange) -> Self {
        let QueueChange { delivery, attempt, endpoint_state } = change;
        Self { delivery, attempt, endpoint_state, operational: Vec::new() }
    }
}

/// Whether a settled delivery replaces the stored one, which has this state and was replayed so often. A
/// finished delivery stays finished, and an attempt from before a replay does not undo the replay.
pub(super) const fn settles(settled: &Delivery, stored: DeliveryState, replays: u32) -> bool {
    settled.replays >= replays && (stored.is_open() || !settled.state.is_open())
}

/// The error for a message that cannot be deleted yet.
pub(super) fn is_open(id: MessageId) -> Error {
    Error::conflict(format!("a delivery of {id} is open; cancel it first"))
}

/// The error for a write of an earlier run.
pub(super) fn run_ended(fence: Fence) -> Error {
    Error::conflict(format!("run {} of the dispatcher has ended", fence.0))
}

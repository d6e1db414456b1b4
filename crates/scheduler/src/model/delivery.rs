//! A delivery: one message on its way to one endpoint, claimed, attempted and finished on its own.

use stagger_core::Instant;
use stagger_core::retry::Saved;

use super::{ApplicationId, EndpointId, MessageId};

/// The delivery of a message to an endpoint. Both ids together name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message to deliver.
    pub message: MessageId,
    /// The endpoint to deliver to.
    pub endpoint: EndpointId,
    /// The application that owns it.
    pub application: ApplicationId,
    /// Its state.
    pub state: DeliveryState,
    /// The next attempt is not made before this.
    pub due: Instant,
    /// Attempts made in all, replays included; the number of the last one.
    pub attempts: u32,
    /// The number of replays.
    pub replays: u32,
    /// The engine's state of the call, once an attempt has failed since the last replay.
    pub call: Option<Saved>,
    /// Why it is dead or cancelled.
    pub ending: Option<DeliveryEnding>,
    /// The time of the last change.
    pub updated_at: Instant,
}

impl Delivery {
    /// A delivery without attempts.
    #[must_use]
    pub const fn new(
        message: MessageId,
        endpoint: EndpointId,
        application: ApplicationId,
        now: Instant,
    ) -> Self {
        Self {
            message,
            endpoint,
            application,
            state: DeliveryState::Pending,
            due: now,
            attempts: 0,
            replays: 0,
            call: None,
            ending: None,
            updated_at: now,
        }
    }

    /// The delivery made pending again at `now`: call and ending are forgotten, attempts counted on.
    #[must_use]
    pub const fn replayed(self, now: Instant) -> Self {
        let replays = self.replays.saturating_add(1);
        let state = DeliveryState::Pending;
        Self { state, due: now, call: None, ending: None, replays, updated_at: now, ..self }
    }

    /// The waiting delivery made due at `now`: nothing else changes.
    #[must_use]
    pub fn made_due(self, now: Instant) -> Self {
        let call = self.call.map(|call| Saved { wait: now - self.updated_at, ..call });
        Self { due: now, call, ..self }
    }

    /// The delivery once its endpoint was deleted: cancelled.
    #[must_use]
    pub const fn endpoint_deleted(self, now: Instant) -> Self {
        let (state, ending) = (DeliveryState::Cancelled, Some(DeliveryEnding::EndpointDeleted));
        Self { state, ending, updated_at: now, ..self }
    }
}

/// The states of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeliveryState {
    /// Not attempted yet, or replayed and not attempted since.
    Pending,
    /// Failed, and waiting for its next attempt.
    Waiting,
    /// A 2xx came.
    Delivered,
    /// No further attempt will be made: a dead letter, which can be replayed.
    Dead,
    /// It is no longer wanted.
    Cancelled,
}

impl DeliveryState {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Waiting, Self::Delivered, Self::Dead, Self::Cancelled];

    /// Its name in the API and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether attempts are still to come.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Waiting)
    }
}

/// The identity of a delivery.
pub type DeliveryId = (MessageId, EndpointId);

/// Why a delivery ended without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryEnding {
    /// The policy allows no further attempt.
    AttemptsExhausted,
    /// The policy's deadline has passed.
    DeadlineExceeded,
    /// The status is one that the endpoint lists as permanent.
    Permanent,
    /// The server said not to come back, or not before it would be too late. Hints end no delivery any
    /// more: only deliveries that ended earlier have it.
    HintForbids,
    /// The egress guard refused the address.
    EgressRefused,
    /// The request could not be built: a header template filled in to something invalid.
    Unbuildable,
    /// The endpoint was deleted.
    EndpointDeleted,
    /// It was cancelled by a call.
    Cancelled,
}

impl DeliveryEnding {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::AttemptsExhausted,
        Self::DeadlineExceeded,
        Self::Permanent,
        Self::HintForbids,
        Self::EgressRefused,
        Self::Unbuildable,
        Self::EndpointDeleted,
        Self::Cancelled,
    ];

    /// Its name in the API and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Permanent => "permanent",
            Self::HintForbids => "hint_forbids",
            Self::EgressRefused => "egress_refused",
            Self::Unbuildable => "unbuildable",
            Self::EndpointDeleted => "endpoint_deleted",
            Self::Cancelled => "cancelled",
        }
    }

    /// The ending of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.name() == name)
    }
}

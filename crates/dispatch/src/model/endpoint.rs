//! An endpoint: where an application's messages go, and how.

use stagger::{Instant, Policy, Span};

use super::{ApplicationId, EndpointId, EventType, HeaderTemplate, Pace, Secret, Statuses};

/// The settings of an endpoint. What the dispatcher learns about it is its
/// [`EndpointState`](super::Standing).
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// Its name in the API.
    pub id: EndpointId,
    /// Whose it is.
    pub application: ApplicationId,
    /// Where requests go, as written: checked by the egress guard when saved and at each attempt.
    pub url: String,
    /// What people call it.
    pub description: String,
    /// What it gets.
    pub events: EventFilter,
    /// How its deliveries are retried, and when its breaker opens.
    pub policy: Policy,
    /// How long one attempt may take, from resolving the name to the last byte read.
    pub timeout: Span,
    /// How fast it may be called.
    pub pace: Pace,
    /// Whether messages arrive in the order in which they were accepted: one at a time, and a failed
    /// one holds up those after it.
    pub ordered: bool,
    /// Statuses that end a delivery at once.
    pub permanent: Statuses,
    /// How long all attempts must fail before it is disabled.
    pub disable_after: Span,
    /// What its attempts are signed with: at least one.
    pub secrets: Vec<Secret>,
    /// What its attempts carry.
    pub headers: Vec<HeaderTemplate>,
    /// When it was made.
    pub created_at: Instant,
    /// When its settings were last changed.
    pub updated_at: Instant,
}

/// Which messages an endpoint gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// All but the operational ones.
    All,
    /// Those of these types.
    Only(Vec<EventType>),
}

impl EventFilter {
    /// Whether messages of this type pass.
    #[must_use]
    pub fn wants(&self, event_type: &EventType) -> bool {
        match self {
            Self::All => !event_type.is_operational(),
            Self::Only(types) => types.contains(event_type),
        }
    }
}

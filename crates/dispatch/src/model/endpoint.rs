//! An endpoint: where an application's messages go, and how.

use stagger::{Instant, Policy, Span};
use stagger_scheduler::QueueSettings;

use super::{ApplicationId, EndpointId, EventType, HeaderTemplate, Pace, Secret, Statuses};

/// The settings of an endpoint. Its learned state is its [`EndpointState`](super::EndpointState).
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// Its name in the API.
    pub id: EndpointId,
    /// The application that owns it.
    pub application: ApplicationId,
    /// The URL of requests, as written: checked by the egress guard when saved and at each attempt.
    pub url: String,
    /// A description for people.
    pub description: String,
    /// The events that it receives.
    pub events: EventFilter,
    /// The retry policy of its deliveries, and the settings of its breaker.
    pub policy: Policy,
    /// The longest time that one attempt may take, from resolving the name to the last byte read.
    pub timeout: Span,
    /// Its rate limits.
    pub pace: Pace,
    /// Whether messages are sent in the order in which they were accepted: one at a time, and a
    /// failed one holds up those after it.
    pub ordered: bool,
    /// Statuses that end a delivery immediately.
    pub permanent: Statuses,
    /// The time for which all attempts must fail before it is disabled.
    pub disable_after: Span,
    /// The secrets that sign its attempts: at least one.
    pub secrets: Vec<Secret>,
    /// The headers of its attempts.
    pub headers: Vec<HeaderTemplate>,
    /// The time at which it was created.
    pub created_at: Instant,
    /// The time at which its settings were last changed.
    pub updated_at: Instant,
}

impl Endpoint {
    /// The settings that the scheduler needs.
    #[must_use]
    pub fn queue_settings(&self) -> QueueSettings {
        QueueSettings {
            id: self.id,
            application: self.application,
            policy: self.policy,
            timeout: self.timeout,
            pace: self.pace,
            ordered: self.ordered,
            permanent: self.permanent.clone(),
            disable_after: self.disable_after,
        }
    }
}

/// The messages that an endpoint receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// All but the operational ones.
    All,
    /// Messages of these types.
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

//! A lane as people see it.

use stagger::Instant;
use stagger::breaker::StateKind;

use crate::model::EndpointState;

/// The current state of an endpoint and of its open deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// The learned state of the endpoint.
    pub endpoint_state: EndpointState,
    /// Its breaker.
    pub breaker: StateKind,
    /// The time at which the next probe may be sent, while the breaker is open.
    pub next_probe: Option<Instant>,
    /// Deliveries that could be attempted, as of the lane's last turn: while it is held back, those
    /// whose time comes are still counted as waiting.
    pub ready: usize,
    /// Deliveries that wait for their time.
    pub waiting: usize,
    /// Attempts under way.
    pub in_flight: usize,
    /// Attempts a second that are allowed at this moment, if there is a bound.
    pub rate: Option<u64>,
}

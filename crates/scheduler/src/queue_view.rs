//! A queue as people see it.

use stagger_core::Instant;
use stagger_core::breaker::StateKind;

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
    /// Deliveries that are ready, as of the queue's last turn: while the queue is held back,
    /// deliveries that become due are still counted as waiting.
    pub ready: usize,
    /// Deliveries that wait for their time.
    pub waiting: usize,
    /// Attempts in flight.
    pub in_flight: usize,
    /// Attempts a second that are allowed at this moment, if there is a bound.
    pub rate: Option<u64>,
}

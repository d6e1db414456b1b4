//! The scheduler's decisions, the results that it gets back, and a queue as people see it.

use stagger_core::Instant;
use stagger_core::breaker::StateKind;

use crate::model::{
    ApplicationId, Delivery, DeliveryAttempt, Disabled, EndpointId, EndpointState, MessageId,
};

/// The next decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextLaunch {
    /// Make this attempt now, and settle its answer.
    Send(Launch),
    /// Nothing before this time, unless another event comes first.
    Until(Instant),
    /// Nothing until the next event.
    Idle,
}

/// One attempt that is to be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The message to send.
    pub message: MessageId,
    /// The endpoint to send it to.
    pub endpoint: EndpointId,
    /// The application that owns it.
    pub application: ApplicationId,
    /// The attempt's number, from 1, replays counted on.
    pub number: u32,
    /// Whether it repeats an attempt that failed.
    pub retry: bool,
    /// Whether the breaker sent it to see if the endpoint is well.
    pub probe: bool,
    /// The time at which it was launched.
    pub at: Instant,
    /// The serial number of the attempt: its answer finds its permits by it.
    pub(super) serial: u64,
}

/// The result of a settled attempt.
#[derive(Clone, Debug)]
pub struct SettledAttempt {
    /// The changes to make durable.
    pub change: QueueChange,
    /// The event to report to the application.
    pub event: Option<OperationalEvent>,
}

/// The changes that become durable together: all of them or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueChange {
    /// The delivery as it is now.
    pub delivery: Option<Delivery>,
    /// The attempt that was made.
    pub attempt: Option<DeliveryAttempt>,
    /// The learned state of the endpoint.
    pub endpoint_state: Option<(EndpointId, EndpointState)>,
}

/// An event that an operational webhook reports to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationalEvent {
    /// An endpoint was disabled: `stagger.endpoint.disabled`.
    EndpointDisabled(EndpointId, Disabled),
    /// A delivery died: `stagger.delivery.dead`.
    DeliveryDead(EndpointId, MessageId),
}

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

impl QueueView {
    /// Whether deliveries are open. A recovery without any ends with the next attempt.
    #[must_use]
    pub const fn has_open(&self) -> bool {
        self.ready + self.waiting + self.in_flight > 0
    }
}

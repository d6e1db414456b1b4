//! The changes that become durable together when an attempt has settled.

use stagger_scheduler::QueueChange;
use stagger_scheduler::leadership::Fence;

use crate::Error;
use crate::model::{Delivery, DeliveryAttempt, EndpointId, EndpointState, NewMessage};

/// One settled attempt, or another change to a delivery or an endpoint: all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// The delivery as it is now.
    pub delivery: Option<Delivery>,
    /// The attempt that was made.
    pub attempt: Option<DeliveryAttempt>,
    /// The learned state of the endpoint.
    pub endpoint_state: Option<(EndpointId, EndpointState)>,
    /// The operational message to its application.
    pub operational: Option<NewMessage>,
}

impl From<QueueChange> for Settlement {
    fn from(change: QueueChange) -> Self {
        let QueueChange { delivery, attempt, endpoint_state } = change;
        Self { delivery, attempt, endpoint_state, operational: None }
    }
}

/// The error for a write of an earlier run.
pub(super) fn run_ended(fence: Fence) -> Error {
    Error::conflict(format!("run {} of the dispatcher has ended", fence.0))
}

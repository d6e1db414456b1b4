//! The changes that become durable together when an attempt has settled.

use crate::Error;
use crate::model::{Delivery, DeliveryAttempt, EndpointId, EndpointState, NewMessage};

/// The fencing token of a run: every opening of a store for work takes the next number, and writes
/// with an earlier one are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub u64);

impl Fence {
    /// The error for a settlement of an earlier run.
    pub(super) fn is_over(self) -> Error {
        Error::conflict(format!("run {} of the dispatcher has ended", self.0))
    }
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
    /// The operational message to its application.
    pub operational: Option<NewMessage>,
}

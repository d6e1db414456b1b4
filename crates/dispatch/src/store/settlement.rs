//! What becomes durable together when an attempt has settled.

use crate::Error;
use crate::model::{Attempt, Delivery, EndpointId, EndpointState, NewMessage};

/// Which run of the dispatcher may write: every opening of a store for work takes the next number,
/// and what an earlier one still sends is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub u64);

impl Fence {
    /// What a settlement of an earlier run is answered with.
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
    pub attempt: Option<Attempt>,
    /// What was learned of the endpoint.
    pub endpoint_state: Option<(EndpointId, EndpointState)>,
    /// What its application is told about it.
    pub operational: Option<NewMessage>,
}

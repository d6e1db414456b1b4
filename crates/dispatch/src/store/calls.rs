//! The requests and the results of calls to a store.

use stagger::Instant;

use super::DeliveryFilter;
use crate::model::{Application, ApplicationId, DeliveryState, Endpoint, EndpointId, MessageId};

/// The result of accepting a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its name, or that of the first with its key.
    pub id: MessageId,
    /// Whether it was there before, so that nothing was stored.
    pub repeated: bool,
}

/// The deliveries to make pending again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayRequest {
    /// This one, whatever its state, unless it is open already.
    One(MessageId, EndpointId),
    /// The dead deliveries of an application that pass a filter; only delivered ones if the
    /// filter's state says so. The filter's endpoint and times apply.
    Many(ApplicationId, DeliveryFilter),
}

impl ReplayRequest {
    /// The state of the deliveries that are replayed when many are asked for; `None` when the filter
    /// names a state that cannot be replayed.
    #[must_use]
    pub const fn state_of_many(filter: &DeliveryFilter) -> Option<DeliveryState> {
        match filter.state {
            None | Some(DeliveryState::Dead) => Some(DeliveryState::Dead),
            Some(DeliveryState::Delivered) => Some(DeliveryState::Delivered),
            Some(_) => None,
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

/// The number of rows that a pruning deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Messages, each with its payload, deliveries and attempts.
    pub messages: usize,
}

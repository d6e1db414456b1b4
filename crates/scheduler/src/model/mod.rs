//! The data that the scheduler decides about: ids, deliveries, attempts, and the state of endpoints.
//!
//! A message has one [`Delivery`] for each endpoint that receives it. Each delivery is attempted until it
//! is delivered or dead. Instants are nanoseconds since the Unix epoch, UTC.

mod answer;
mod attempt;
mod delivery;
mod endpoint_state;
mod id;
mod pace;
mod statuses;

pub use answer::{AttemptAnswer, AttemptFailure};
pub use attempt::{DeliveryAttempt, REPLY_LIMIT};
pub use delivery::{Delivery, DeliveryEnding, DeliveryId, DeliveryState};
pub use endpoint_state::{Disabled, EndpointState, Opened};
pub use id::{ApplicationId, EndpointId, MessageId};
pub use pace::{Pace, Recovery};
pub use statuses::Statuses;

//! Polling is not retrying: nothing has failed, it is only not ready yet.
//!
//! So no budget is asked and no breaker counts; what ends a poll is readiness, an error, or a limit.

mod error;
mod poller;
mod progress;

pub use error::{PollError, PollStop};
pub use poller::Poller;
pub use progress::Progress;

//! The way out: one attempt, from the name of the receiver to the verdict's facts.
//!
//! Every connection is dialled in one place: the name is resolved, the egress guard judges all
//! answers, and only an address that passed is connected to, so that no second lookup can answer
//! otherwise. No proxy of the environment is used and no redirect is followed. An attempt owns its
//! connection: dropping the attempt closes it.

mod connection;
mod dial;
mod options;
mod pool;
mod request;
mod resolve;
mod send_failure;
mod sender;
mod target;

pub use options::SendOptions;
pub(crate) use request::Written;
pub use resolve::{Resolve, SystemResolver};
pub use sender::Sender;
pub use target::Target;

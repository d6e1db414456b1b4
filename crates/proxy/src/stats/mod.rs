//! The figures of a proxy: counters of each destination, and the last refusals.

mod destination_stats;
mod refusal_log;
mod snapshot;

pub(crate) use destination_stats::{AttemptCopy, DestinationStats};
pub use refusal_log::Refusal;
pub(crate) use refusal_log::RefusalLog;
pub use snapshot::{DestinationSnapshot, RouteSnapshot, Snapshot, StoreSnapshot};

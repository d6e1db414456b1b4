//! One budget and one breaker for a whole fleet, in Redis or Valkey. No call ever waits for it.
//!
//! ```text
//!  calls ──ask──▶ Leased ◀──permits── LeaseClient ◀──one script a lease── SharedStore ── Redis, Valkey
//!         (atomics)       ──events──▶ (task)
//! ```

mod breaker;
#[cfg(test)]
mod differential_test;
mod event_counters;
mod keyed;
mod lease_client;
mod leased;
mod ledger;
mod link;
mod options;
mod permits;
mod script;
mod stats;
mod store;

use super::sync;

pub use keyed::SharedLedgers;
pub use ledger::SharedLedger;
pub use options::{SharedOptions, StoreFallback};
pub use stats::SharedStats;
pub use store::{SharedStore, StoreError};

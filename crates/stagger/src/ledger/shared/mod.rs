//! One budget and one breaker for a whole fleet, in Redis or Valkey. No call ever waits for it.
//!
//! ```text
//!  calls ──ask──▶ Leased ◀──permits── LeaseClient ◀──one script a lease── SharedStore ── Redis, Valkey
//!         (atomics)       ──news────▶ (task)
//! ```

mod away;
mod breaker;
#[cfg(test)]
mod differential;
mod error;
mod keyed;
mod lease_client;
mod leased;
mod ledger;
mod link;
mod news;
mod options;
mod permits;
mod script;
mod stats;
mod store;

use super::sync;

pub use away::Away;
pub use error::StoreError;
pub use keyed::SharedLedgers;
pub use ledger::SharedLedger;
pub use options::SharedOptions;
pub use stats::SharedStats;
pub use store::SharedStore;

//! Where budgets and breakers remember: one [`LocalLedger`] a destination, kept in [`Ledgers`].

mod breaker;
mod budget;
mod interval;
mod keyed;
mod lane;
mod lanes;
mod local;
mod shard;
#[cfg(feature = "redis")]
mod shared;
mod stats;
mod sync;
mod tally;
mod window;
mod word;

pub use keyed::Ledgers;
pub use local::LocalLedger;
#[cfg(feature = "redis")]
pub use shared::{Away, SharedLedger, SharedOptions, SharedStats, SharedStore, StoreError};
pub use stats::LedgerStats;

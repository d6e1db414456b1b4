//! The memory of budgets and breakers: one [`LocalLedger`] a destination, kept in [`Ledgers`]; or one for
//! a whole fleet, in `shared`.

mod breaker;
mod budget;
mod interval;
mod keyed;
mod lane;
mod lanes;
mod local;
mod pause;
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
pub use shared::{
    Away, SharedLedger, SharedLedgers, SharedOptions, SharedStats, SharedStore, StoreError,
};
pub use stats::LedgerStats;

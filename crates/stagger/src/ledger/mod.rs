//! The memory of budgets and breakers: one [`LocalLedger`] a destination, kept in [`Ledgers`]; or one for
//! a whole fleet, in `shared`.

mod atomic_budgets;
mod breaker;
mod budget;
mod interval_budget;
mod keyed;
mod ledger_shard;
mod local;
mod pause;
mod result_window;
#[cfg(feature = "redis")]
mod shared;
mod stripe;
mod striped_counter;
mod sync;
mod window_budget;

pub use keyed::Ledgers;
pub use local::{LedgerStats, LocalLedger};
#[cfg(feature = "redis")]
pub use shared::{
    SharedLedger, SharedLedgers, SharedOptions, SharedStats, SharedStore, StoreError, StoreFallback,
};

//! The memory of budgets and breakers: one [`LocalLedger`] a destination, kept in [`Ledgers`]. Ledgers of other
//! crates, such as a fleet's in `stagger-redis`, are kept there too.

mod adaptive;
mod atomic_budgets;
mod attempt_limits;
mod breaker;
mod budget;
mod interval_budget;
mod keyed;
mod ledger_shard;
mod local;
mod pause;
mod result_window;
mod stripe;
mod striped_counter;
mod sync;
mod window_budget;

pub use adaptive::AdaptiveStats;
pub use attempt_limits::{ConcurrencyStats, RateLimitStats};
pub use keyed::Ledgers;
pub use ledger_shard::KeptLedger;
pub use local::{LedgerStats, LocalLedger};

//! The figures of a ledger.

use stagger_core::breaker::StateKind;
use stagger_core::budget::Level;

/// A ledger's figures at one instant, for metrics and people.
///
/// Each figure is exact, but they are read one after the other while calls go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerStats {
    /// The level of the budget.
    pub level: Level,
    /// Retries and hedges that the budget granted so far.
    pub grants: u64,
    /// Retries and hedges that it refused so far.
    pub refusals: u64,
    /// Grants that were given back so far, because no attempt followed.
    pub refunds: u64,
    /// The state of the breaker, if there is one.
    pub breaker: Option<StateKind>,
    /// Attempts that the breaker refused so far.
    pub breaker_refusals: u64,
    /// The number of times that the breaker opened so far.
    pub breaker_opened: u64,
}

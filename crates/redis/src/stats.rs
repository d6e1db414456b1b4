//! The figures of a shared ledger.

use stagger::LedgerStats;

/// A shared ledger's figures at one instant, for metrics and people.
///
/// Each figure is exact, but they are read one after the other while calls go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedStats {
    /// The figures that every ledger has. The level is the fleet's as the store reported it last; this
    /// process's own while the store is unreachable.
    pub ledger: LedgerStats,
    /// Leased permits that are left.
    pub permits: u64,
    /// Permits that were leased so far.
    pub leased: u64,
    /// Permits that the store was asked for and did not grant so far.
    pub lease_denied: u64,
    /// Whether the store is unreachable.
    pub store_down: bool,
    /// The number of outages so far.
    pub store_outages: u64,
    /// Retries and hedges that this process granted on its own so far, because the store was unreachable.
    pub local_granted: u64,
    /// Requests for permits that the store answered so far.
    pub answers: u64,
    /// The number of times so far that the fleet's breaker opened or closed for what other processes saw; zero
    /// unless it is shared.
    pub breaker_remote_moves: u64,
    /// Probes that the store has leased to this process so far.
    pub probes_leased: u64,
}

impl SharedStats {
    /// The figures of a ledger that needs no store.
    pub(crate) const fn unshared(ledger: LedgerStats) -> Self {
        Self {
            ledger,
            permits: 0,
            leased: 0,
            lease_denied: 0,
            store_down: false,
            store_outages: 0,
            local_granted: 0,
            answers: 0,
            breaker_remote_moves: 0,
            probes_leased: 0,
        }
    }
}

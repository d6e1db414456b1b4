//! One stretch of a run, and what its budget allows.

use serde::Serialize;

use super::count::Count;

/// The budget of a member: 10 % of the first attempts, and one retry a second besides.
const ONE_IN: u64 = 10;
const WINDOW_S: u64 = 10;

/// The results of the fleet in one phase.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct FleetPhase {
    pub(super) seconds: u64,
    pub(super) first_attempts: u64,
    pub(super) retries_shared: u64,
    /// The retries that as many local budgets granted at the same time.
    pub(super) retries_local: u64,
    /// The retries that one budget allows over these first attempts.
    pub(super) limit: u64,
    /// Permits that processes held when it began: they may be used on top.
    pub(super) outstanding_leases: u64,
    /// The unused limit of the phase before: its last first attempts are still in the window.
    pub(super) left_over: u64,
    /// Processes that took the store for away when it ended.
    pub(super) away: u64,
    pub(super) max_wait_us: u64,
}

impl FleetPhase {
    /// A phase after `before`, at whose end processes held so many permits.
    pub(super) fn new(seconds: u64, count: Count, before: Option<&Self>, held: u64) -> Self {
        // The floor's window may be untouched when a phase begins.
        let floor = seconds + WINDOW_S;
        Self {
            seconds,
            first_attempts: count.firsts,
            retries_shared: count.retries_shared,
            retries_local: count.retries_local,
            limit: count.firsts / ONE_IN + floor,
            outstanding_leases: held,
            left_over: before.map_or(0, |phase| phase.limit.saturating_sub(phase.retries_shared)),
            away: count.away,
            max_wait_us: count.shared_us,
        }
    }

    /// Whether there were not too many retries.
    pub(super) const fn is_within(&self) -> bool {
        self.retries_shared <= self.limit + self.outstanding_leases + self.left_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_retry_too_many_is_seen() {
        let count = Count { firsts: 1_000, retries_shared: 100 + 15 + 7, ..Count::default() };
        assert!(FleetPhase::new(5, count, None, 7).is_within());
        let phase = FleetPhase::new(5, count, None, 6);
        assert!(!phase.is_within());
        // One that used up its limit leaves nothing.
        assert!(!FleetPhase::new(5, count, Some(&phase), 6).is_within());
        let thrifty = FleetPhase::new(5, Count { retries_shared: 114, ..count }, None, 0);
        assert!(FleetPhase::new(5, count, Some(&thrifty), 6).is_within());
    }
}

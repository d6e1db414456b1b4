//! The result of a run.

use std::fmt;

use serde::Serialize;

use super::forecast::Forecast;
use super::phase::FleetPhase;

/// A total outage with one budget for all, beside one for each; then the same without the store.
#[derive(Debug, Serialize)]
pub(super) struct FleetReport {
    pub(super) processes: u32,
    pub(super) first_attempts: u64,
    pub(super) retries_shared: u64,
    pub(super) retries_local: u64,
    pub(super) limit: u64,
    /// The most that processes may hold: one and a half leases each.
    pub(super) outstanding_leases: u64,
    /// The longest that a call had to wait for the shared ledger in any phase, by the wall clock,
    /// and for a local one beside it: what is in both is the machine's.
    pub(super) max_wait_on_redis_us: u64,
    pub(super) max_wait_on_local_us: u64,
    /// The same outage in the storm lab.
    pub(super) forecast: Forecast,
    pub(super) after_redis_stop: FleetPhase,
    pub(super) after_redis_back: FleetPhase,
    pub(super) after_redis_pause: FleetPhase,
    pub(super) after_redis_resume: FleetPhase,
}

impl FleetReport {
    /// Whether the fleet kept to its budget, noticed that the store was away, and found it again.
    pub(super) fn is_good(&self) -> bool {
        let gone = [&self.after_redis_stop, &self.after_redis_pause];
        let there = [&self.after_redis_back, &self.after_redis_resume];
        let within = |phase: &&FleetPhase| phase.is_within();
        self.retries_shared <= self.limit + self.outstanding_leases
            && gone.iter().chain(&there).all(within)
            && gone.iter().all(|phase| phase.away == u64::from(self.processes))
            && there.iter().all(|phase| phase.away == 0)
    }
}

impl fmt::Display for FleetReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} processes, a server that is down all the time", self.processes)?;
        writeln!(f, "{:>10} first attempts", self.first_attempts)?;
        writeln!(f, "{:>10} retries with one budget, of {}", self.retries_shared, self.limit)?;
        writeln!(f, "{:>10} retries with a budget each", self.retries_local)?;
        let Forecast { retries_shared, retries_local } = self.forecast;
        writeln!(f, "{retries_shared:>10} and {retries_local}: the forecast of the storm lab")?;
        writeln!(f, "{:>10} permits at most in the hands of processes", self.outstanding_leases)?;
        writeln!(
            f,
            "{:>10} us: the longest wait for the shared ledger",
            self.max_wait_on_redis_us
        )?;
        writeln!(f, "{:>10} us: the same for a local one", self.max_wait_on_local_us)?;
        for (name, phase) in [
            ("stopped", &self.after_redis_stop),
            ("back", &self.after_redis_back),
            ("paused", &self.after_redis_pause),
            ("resumed", &self.after_redis_resume),
        ] {
            let FleetPhase { retries_shared, limit, outstanding_leases, left_over, away, .. } =
                phase;
            let all = limit + outstanding_leases + left_over;
            writeln!(f, "store {name}: {retries_shared} retries of {all}, {away} without it")?;
        }
        Ok(())
    }
}

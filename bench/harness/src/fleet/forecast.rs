//! The same outage in the storm lab.

use std::error::Error;
use std::sync::Arc;

use serde::Serialize;
use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Away, CallerLayer, Fault, Fleet, LedgerModel, RunPlan, SharedBudget,
    Simulation, Trouble,
};

use super::member::policy;

/// The way to a store on the same machine, one direction.
const LATENCY: Span = Span::from_micros(100);

/// Retries of a fleet whose every attempt fails, in virtual time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Forecast {
    pub(super) retries_shared: u64,
    pub(super) retries_local: u64,
}

/// A fleet as the chore runs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FleetOutage {
    pub(super) processes: u32,
    /// Permits in a lease.
    pub(super) lease: u32,
    /// First attempts a second of all.
    pub(super) rate: u64,
    pub(super) seconds: u64,
    /// Seconds before that, which are not counted.
    pub(super) start: u64,
}

impl FleetOutage {
    pub(super) fn forecast(&self) -> Result<Forecast, Box<dyn Error>> {
        let shared = LedgerModel::Shared(SharedBudget {
            budget: *policy()?.budget(),
            lease: self.lease,
            latency: LATENCY,
            loss: Ratio::ZERO,
            again: Span::from_millis(500),
            down: None,
            away: Away::Local { nodes: self.processes },
        });
        let retries_shared = self.retries(shared)?;
        Ok(Forecast { retries_shared, retries_local: self.retries(LedgerModel::Engine)? })
    }

    /// Those of all the time, without those of the start.
    fn retries(&self, ledger: LedgerModel) -> Result<u64, Box<dyn Error>> {
        let until = |seconds| -> Result<u64, Box<dyn Error>> {
            let played = Simulation::new().play(&self.plan(ledger, seconds)?, 1);
            Ok(played.retries.total)
        };
        Ok(until(self.start + self.seconds)? - until(self.start)?)
    }

    fn plan(&self, ledger: LedgerModel, seconds: u64) -> Result<RunPlan, Box<dyn Error>> {
        let gap = Span::from_nanos(Span::from_secs(1).as_nanos() / self.rate);
        let at = |number| Instant::ORIGIN + gap.saturating_mul(number);
        let arrivals: Arc<[Instant]> = (0..self.rate * seconds).map(at).collect();
        let down = Fault::new(Trouble::Refuse, Instant::ORIGIN, Instant::FAR);
        Ok(RunPlan {
            fleet: Fleet { processes: self.processes, ledger, ..Fleet::default() },
            faults: vec![down],
            ..RunPlan::new(ArrivalProcess::Recorded(arrivals), CallerLayer::new(policy()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_budget_is_its_share_and_forty_are_forty_floors_more() {
        let outage = FleetOutage { processes: 40, lease: 4, rate: 1_000, seconds: 10, start: 2 };
        let forecast = outage.forecast().expect("a plan in bounds");
        // 10 % of 10 000, and one a second.
        assert!((950..=1_030).contains(&forecast.retries_shared), "{forecast:?}");
        // The same, and one a second of each.
        assert!((1_300..=1_420).contains(&forecast.retries_local), "{forecast:?}");
    }
}

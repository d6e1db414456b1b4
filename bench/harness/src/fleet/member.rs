//! One process of the fleet, which calls a server that is down, and the same outage in the storm lab.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use stagger::budget::{FloorRate, WindowPlan};
use stagger::{Backoff, Clock, LocalLedger, Policy, Rate, Retrier, Span, TokioTime};
use stagger_core::{Instant, Ratio};
use stagger_redis::{SharedLedger, SharedOptions, SharedStore};
use stagger_sim::{
    ArrivalProcess, Away, CallerLayer, Fault, Fleet, LedgerModel, RunPlan, SharedBudget,
    Simulation, Trouble,
};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::time::{MissedTickBehavior, interval};
use xtask_workbench::emit;

use super::processes::{Count, Timed};
use crate::rig::run_here;

/// The name of the budget in the store.
const NAME: &str = "fleet";

/// The address of the store, the number of processes that share it, and the rate of calls of each.
#[derive(Debug, Args)]
pub(crate) struct FleetMember {
    #[arg(long)]
    url: String,
    #[arg(long)]
    processes: u32,
    #[arg(long)]
    lease: u32,
    /// Milliseconds from call to call
    #[arg(long)]
    every_ms: u64,
}

/// Calls until its standard input ends.
pub(crate) fn member(member: &FleetMember) -> Result<bool, Box<dyn Error>> {
    run_here(calls(member))?;
    Ok(true)
}

/// 10 % and one retry a second, of the fleet as of each process.
pub(super) fn policy() -> Result<Policy, Box<dyn Error>> {
    let backoff = Backoff::exponential(Span::from_millis(10), Span::from_millis(100))?;
    let budget = WindowPlan::default().with_floor(FloorRate::Add(Rate::per_second(1)));
    Ok(Policy::builder().backoff(backoff).max_attempts(4).budget(budget).build()?)
}

/// Calls to one destination under one kind of ledger.
struct FleetCaller<L> {
    retrier: Retrier<TokioTime, Timed<L>>,
    /// Attempts, first and further ones.
    attempts: Arc<AtomicU64>,
}

async fn calls(member: &FleetMember) -> Result<(), Box<dyn Error>> {
    let options = SharedOptions::new(member.processes)?.with_lease(member.lease)?;
    let store = SharedStore::connect(&member.url, options).await?;
    let policy = policy()?;
    let shared = FleetCaller::<SharedLedger>::new(policy, store.ledger(NAME, &policy)?);
    let local = FleetCaller::<LocalLedger>::new(policy, Arc::new(LocalLedger::new(&policy)));
    let mut orders = BufReader::new(stdin()).lines();
    let mut beat = interval(Duration::from_millis(member.every_ms));
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut firsts = 0;
    loop {
        // A line ends a phase; the end of all lines ends the process.
        let line = tokio::select! {
            _ = beat.tick() => {
                firsts += 1;
                shared.call();
                local.call();
                continue;
            }
            line = orders.next_line() => line?,
        };
        if line.is_none() {
            shared.retrier.ledger().ledger.close().await;
            return Ok(());
        }
        let count = count(&shared, &local, firsts);
        firsts = 0;
        emit(&format!("{}\n", serde_json::to_string(&count)?));
    }
}

impl<L: Send + Sync + 'static> FleetCaller<L>
where
    for<'l> &'l L: stagger::engine::Ledger,
{
    fn new(policy: Policy, ledger: Arc<L>) -> Self {
        let retrier = Retrier::new(policy, TokioTime).with_ledger(Arc::new(Timed::new(ledger)));
        Self { retrier, attempts: Arc::default() }
    }

    /// One call to a server that is down, in the background.
    fn call(&self) {
        let (retrier, attempts) = (self.retrier.clone(), Arc::clone(&self.attempts));
        tokio::spawn(async move {
            let call = retrier
                .retry(async || {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    Err::<(), _>("down")
                })
                .when(|_| true);
            // Every call fails: the server is down.
            let _ = call.await;
        });
    }
}

fn count(
    shared: &FleetCaller<SharedLedger>,
    local: &FleetCaller<LocalLedger>,
    firsts: u64,
) -> Count {
    let stats = shared.retrier.ledger().ledger.stats(TokioTime.now());
    let retries = |attempts: &AtomicU64| attempts.swap(0, Ordering::Relaxed).saturating_sub(firsts);
    Count {
        firsts,
        retries_shared: retries(&shared.attempts),
        retries_local: retries(&local.attempts),
        held: stats.permits,
        away: u64::from(stats.store_down),
        shared_us: shared.retrier.ledger().take_longest(),
        local_us: local.retrier.ledger().take_longest(),
    }
}

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

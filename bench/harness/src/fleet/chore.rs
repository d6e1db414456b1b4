//! The run: an outage with the store, without it, with it again; stopped first, then paused.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::time::{Instant, sleep};
use xtask_workbench::{Format, note};

use super::member::{FleetOutage, Forecast};
use super::processes::{Count, FleetPhase, Processes};
use crate::rig::{Redis, run_here};

/// First attempts a second of the whole fleet: more, and the machine is measured.
const RATE: u64 = 1_000;
/// Permits in a lease.
const LEASE: u32 = 4;
/// The time for processes to start and to lease before anything is counted, in seconds.
const START: u64 = 2;
/// The time for which the store is stopped: longer than any timeout of it.
const AWAY: u64 = 4;
/// The time for which the store is back: longer than the longest delay before a reconnection, 5 s.
const BACK: u64 = 8;

/// The number of processes, the duration, and the format of the result.
#[derive(Debug, Args)]
pub(crate) struct Fleet {
    /// Processes that share a budget.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=200))]
    processes: u32,
    /// Seconds of the outage with the store there; 24 more without it and with it again.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=30))]
    seconds: u64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the fleet; false when it made too many retries, or lost its store.
pub(crate) fn run(fleet: &Fleet) -> Result<bool, Box<dyn Error>> {
    let report = run_here(phases(fleet))?;
    fleet.format.show(&report, &report)?;
    Ok(report.is_good())
}

async fn phases(fleet: &Fleet) -> Result<FleetReport, Box<dyn Error>> {
    let (processes, seconds) = (fleet.processes, fleet.seconds);
    let outage = FleetOutage { processes, lease: LEASE, rate: RATE, seconds, start: START };
    let forecast = outage.forecast()?;
    let store = Redis::start("fleet")?;
    let every_ms = u64::from(fleet.processes) * 1_000 / RATE;
    let arguments = [
        ("url", store.url().to_owned()),
        ("processes", fleet.processes.to_string()),
        ("lease", LEASE.to_string()),
        ("every-ms", every_ms.max(1).to_string()),
    ];
    let arguments = arguments.map(|(name, value)| format!("--{name}={value}"));
    let processes = Processes::start(fleet.processes, &arguments)?;
    let mut run =
        FleetRun { processes, begun: Instant::now(), last: Count::default(), before: None };
    run.phase("they start", START).await?;
    let outage = run.phase("the server is down, the store is there", fleet.seconds).await?;
    let mut waits = vec![run.last];
    store.stop()?;
    let stopped = run.phase("the store is stopped", AWAY).await?;
    waits.push(run.last);
    store.again()?;
    let back = run.phase("the store is back, and has forgotten everything", BACK).await?;
    waits.push(run.last);
    store.pause()?;
    let paused = run.phase("the store is paused", AWAY).await?;
    waits.push(run.last);
    store.resume()?;
    let resumed = run.phase("the store goes on", BACK).await?;
    waits.push(run.last);
    run.processes.end().await?;
    Ok(FleetReport {
        processes: fleet.processes,
        first_attempts: outage.first_attempts,
        retries_shared: outage.retries_shared,
        retries_local: outage.retries_local,
        limit: outage.limit,
        outstanding_leases: u64::from(fleet.processes) * u64::from(LEASE) * 3 / 2,
        max_wait_on_redis_us: waits.iter().map(|count| count.shared_us).max().unwrap_or(0),
        max_wait_on_local_us: waits.iter().map(|count| count.local_us).max().unwrap_or(0),
        forecast,
        after_redis_stop: stopped,
        after_redis_back: back,
        after_redis_pause: paused,
        after_redis_resume: resumed,
    })
}

struct FleetRun {
    processes: Processes,
    /// The begin of the phase, and the counts of the one before.
    begun: Instant,
    last: Count,
    before: Option<FleetPhase>,
}

impl FleetRun {
    async fn phase(&mut self, what: &str, seconds: u64) -> Result<FleetPhase, Box<dyn Error>> {
        note(&format!("{seconds} s: {what}"));
        sleep(Duration::from_secs(seconds)).await;
        let (held, before) = (self.last.held, self.before);
        self.last = self.processes.count().await?;
        // Rounded up: what the store takes to start and to stop is part of the phase.
        let seconds = self.begun.elapsed().as_secs() + 1;
        self.begun = Instant::now();
        let phase = FleetPhase::new(seconds, self.last, before.as_ref(), held);
        self.before = Some(phase);
        Ok(phase)
    }
}

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

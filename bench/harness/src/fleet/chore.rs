//! The run: an outage with the store, without it, with it again; stopped first, then paused.

use std::error::Error;
use std::time::Duration;

use clap::Args;
use tokio::time::{Instant, sleep};

use super::count::Count;
use super::forecast::FleetOutage;
use super::phase::FleetPhase;
use super::processes::Processes;
use super::report::FleetReport;
use crate::rig::{Redis, run_here};
use xtask_workbench::{Format, note};

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

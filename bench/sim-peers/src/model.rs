//! Model P: the numbers that every engine shares, and the cost of one run.

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use serde::Serialize;
use stagger_core::{Backoff, Instant, Span};
use stagger_sim::{Law, Purpose, RandomStream, Schedule};

pub(crate) const SEED: u64 = 42;
pub(crate) const ATTEMPTS: u32 = 4;
/// The time from which the server is up.
pub(crate) const UP: Span = Span::from_secs(1);
pub(crate) const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(500), cap: Span::from_secs(10), attempts: ATTEMPTS };

/// The delays of all clients: the engine's rule and the lab's draws.
#[derive(Clone, Copy)]
pub(crate) struct Delays {
    rule: Backoff,
    draws: RandomStream,
}

impl Delays {
    pub(crate) fn new() -> Self {
        let rule = Law::Full.backoff(&SCHEDULE).expect("the cap is above the base");
        Self { rule, draws: RandomStream::new(SEED, Purpose::Delay) }
    }

    /// The wait of `client` after a failure at this attempt, counted from 1.
    pub(crate) fn after(&self, client: u32, attempt: u32) -> Duration {
        let mut draw = self.draws.at(client, attempt);
        Duration::from_nanos(self.rule.delay(attempt, self.rule.base(), &mut draw).as_nanos())
    }
}

pub(crate) fn up() -> Instant {
    Instant::ORIGIN + UP
}

/// One engine, once.
#[derive(Serialize)]
pub(crate) struct PeerRun {
    engine: String,
    clients: u32,
    /// Delays that were waited for: one event each.
    events: u64,
    served: u64,
    seconds: f64,
    /// The most memory the process had, less what it had before.
    bytes: u64,
}

/// The counts of a run.
pub(crate) struct EventCounts {
    pub(crate) events: u64,
    pub(crate) served: u64,
}

impl PeerRun {
    pub(crate) fn of(
        engine: &str,
        clients: u32,
        run: impl FnOnce(u32) -> Result<EventCounts, Box<dyn Error>>,
    ) -> Result<Self, Box<dyn Error>> {
        let before = most_memory()?;
        let start = Instant::now();
        let EventCounts { events, served } = run(clients)?;
        let seconds = start.elapsed().as_secs_f64();
        let bytes = most_memory()? - before;
        Ok(Self { engine: engine.to_owned(), clients, events, served, seconds, bytes })
    }
}

/// The high-water mark of resident memory, in bytes, as Linux counts it.
fn most_memory() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).ok_or("no VmHWM")?;
    Ok(kib.parse::<u64>()? * 1024)
}

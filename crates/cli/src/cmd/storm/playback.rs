//! Runs on threads, with a progress bar, and Ctrl-C for an early end.

use std::num::NonZeroUsize;
use std::time::Duration;
use std::{fs, thread};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stagger::{Clock, StdTime};
use stagger_core::{ConfigError, Instant, Span};
use stagger_replay::Replay;
use stagger_sim::{ArrivalProcess, Play, Scenario, Shapes, ShapesReport, StormReport, ThreadPool};

use super::memory;
use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::interrupt::Interrupt;
use crate::streams;

/// Attempts that a machine simulates in about a second; what is below needs no bar.
const A_SECOND_OF_WORK: u64 = 10_000_000;
/// The time between two moves of the clock on the bar, even when no run has ended.
const TICK: Duration = Duration::from_millis(200);

/// The threads, the clock and the interrupt of one command.
#[derive(Debug)]
pub(super) struct Playback {
    threads: NonZeroUsize,
    name: String,
    began: Instant,
    quiet: bool,
    interrupt: Interrupt,
}

impl Playback {
    /// A playback that is timed from now on.
    pub(super) fn begin(flags: &StormFlags, name: &str) -> Self {
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            threads: flags.threads.unwrap_or_else(cores),
            name: name.to_owned(),
            began: StdTime.now(),
            quiet: flags.quiet,
            interrupt: Interrupt::watch(),
        }
    }

    /// Plays all runs, or as many as there is time for.
    ///
    /// # Errors
    /// Callers that do not fit into the memory that is free.
    pub(super) fn play(&self, scenario: &Scenario) -> Result<StormReport, CommandError> {
        memory::check(scenario, self.threads)?;
        Ok(self.with_pool(scenario.jobs(), calls(scenario), |pool| scenario.run(pool)))
    }

    /// Plays the calls of a log.
    pub(super) fn replay(&self, replay: &Replay) -> StormReport {
        let scenario = &replay.scenario;
        self.with_pool(scenario.jobs(), calls(scenario), |pool| replay.run(pool))
    }

    /// Draws all delays.
    ///
    /// # Errors
    /// A cap below the base.
    pub(super) fn draw(&self, shapes: &Shapes) -> Result<ShapesReport, ConfigError> {
        let work = shapes.jobs().saturating_mul(u64::from(shapes.chains));
        self.with_pool(shapes.jobs(), work, |pool| shapes.run(pool))
    }

    /// Reports time and memory on standard error: they differ between machines, so the page leaves them out.
    pub(super) fn finish(self) {
        if self.quiet {
            return;
        }
        let took = (StdTime.now() - self.began).as_secs_f64();
        let stopped = if self.interrupt.came() { ", stopped early" } else { "" };
        let memory = peak_memory().map_or_else(String::new, |mib| format!(", {mib} MiB at most"));
        streams::note(&format!("storm {}: {took:.2} s{memory}{stopped}", self.name));
    }

    fn with_pool<T>(&self, jobs: u64, work: u64, run: impl FnOnce(&ThreadPool<'_>) -> T) -> T {
        let bar = progress_bar(jobs, if self.quiet { 0 } else { work });
        let tell = || bar.inc(1);
        let pool = ThreadPool::new(self.threads).telling(&tell).until(self.interrupt.flag());
        let played = run(&pool);
        bar.finish_and_clear();
        played
    }
}

/// Estimates the calls that all runs make together.
fn calls(scenario: &Scenario) -> u64 {
    let entries = scenario.cases.iter().flat_map(|case| &case.entries);
    let each = entries.map(|entry| match &entry.play {
        Play::Run(plan) => {
            let others = plan.bystanders.iter().map(|others| &others.arrivals);
            plan.arrivals.iter().chain(others).map(of_arrivals).fold(0, u64::saturating_add)
        }
        // Each write makes all others of its moment fail.
        Play::Contention(race) => u64::from(race.clients).saturating_pow(2),
    });
    each.fold(0, u64::saturating_add).saturating_mul(u64::from(scenario.runs))
}

fn of_arrivals(arrivals: &ArrivalProcess) -> u64 {
    let times =
        |until: Instant, gap: Span| (until - Instant::ORIGIN).as_nanos() / gap.as_nanos().max(1);
    match arrivals {
        ArrivalProcess::Together { callers }
        | ArrivalProcess::Even { callers, .. }
        | ArrivalProcess::Noticed { callers, .. }
        | ArrivalProcess::Spread { callers, .. } => u64::from(*callers),
        ArrivalProcess::Poisson { gap, until } => times(*until, *gap),
        ArrivalProcess::Stepped { steps, until } => {
            let ends = steps.iter().skip(1).map(|step| step.from.min(*until)).chain([*until]);
            let lasts = steps.iter().zip(ends).filter_map(|(step, end)| {
                let gap = step.gap?.as_nanos().max(1);
                Some((end - step.from.min(end)).as_nanos() / gap)
            });
            lasts.fold(0, u64::saturating_add)
        }
        ArrivalProcess::Clients { clients, gap: think, until, .. }
        | ArrivalProcess::Closed { clients, think, until } => {
            u64::from(*clients).saturating_mul(times(*until, *think))
        }
        ArrivalProcess::Ramped(ramp) => u64::from(ramp.callers),
        ArrivalProcess::Recorded(times) => times.len() as u64,
    }
}

/// A bar over so many runs, on standard error, and only where that is a terminal.
fn progress_bar(jobs: u64, attempts: u64) -> ProgressBar {
    if attempts < A_SECOND_OF_WORK {
        return ProgressBar::hidden();
    }
    // indicatif draws nothing when standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(jobs), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{elapsed} [{bar:40}] {pos}/{len} runs") {
        bar.set_style(style.progress_chars("=> "));
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

/// The most memory that was ever in use, in MiB, where the system tells: `VmHWM` of Linux.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib.div_ceil(1024))
}

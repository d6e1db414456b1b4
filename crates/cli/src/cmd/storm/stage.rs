//! Runs on threads, with a progress bar, and Ctrl-C for an early end.

use std::num::NonZeroUsize;
use std::thread;

use stagger::{Clock, Instant, StdTime};
use stagger_core::ConfigError;
use stagger_replay::Replay;
use stagger_sim::{Scenario, Shapes, ShapesReport, StormReport, ThreadPool};

use super::effort;
use crate::flags::StormFlags;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::progress;
use crate::stderr;

/// The threads, the clock and the interrupt of one command.
#[derive(Debug)]
pub(super) struct Stage {
    threads: NonZeroUsize,
    name: String,
    began: Instant,
    quiet: bool,
    interrupt: Interrupt,
}

impl Stage {
    /// A stage that is timed from now on.
    pub(super) fn set(flags: &StormFlags, name: &str) -> Self {
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
    pub(super) fn play(&self, scenario: &Scenario) -> StormReport {
        self.with_pool(scenario.jobs(), effort::calls(scenario), |pool| scenario.run(pool))
    }

    /// Plays the calls of a log.
    pub(super) fn replay(&self, replay: &Replay) -> StormReport {
        let scenario = &replay.scenario;
        self.with_pool(scenario.jobs(), effort::calls(scenario), |pool| replay.run(pool))
    }

    /// Draws all delays.
    ///
    /// # Errors
    /// A cap below the base.
    pub(super) fn draw(&self, shapes: &Shapes) -> Result<ShapesReport, ConfigError> {
        let work = shapes.jobs().saturating_mul(u64::from(shapes.chains));
        self.with_pool(shapes.jobs(), work, |pool| shapes.run(pool))
    }

    /// Says what it took. This may differ from machine to machine, so it is no part of the page.
    pub(super) fn clear(self) {
        if self.quiet {
            return;
        }
        let took = (StdTime.now() - self.began).as_secs_f64();
        let stopped = if self.interrupt.came() { ", stopped early" } else { "" };
        let memory = memory::peak().map_or_else(String::new, |mib| format!(", {mib} MiB at most"));
        stderr::note(&format!("storm {}: {took:.2} s{memory}{stopped}", self.name));
    }

    fn with_pool<T>(&self, jobs: u64, work: u64, run: impl FnOnce(&ThreadPool<'_>) -> T) -> T {
        let bar = progress::bar(jobs, if self.quiet { 0 } else { work });
        let tell = || bar.inc(1);
        let pool = ThreadPool::new(self.threads).telling(&tell).until(self.interrupt.flag());
        let played = run(&pool);
        bar.finish_and_clear();
        played
    }
}

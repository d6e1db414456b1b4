//! A group of rows that compete: measured in interleaved rounds, medians over the same bare loop.

use std::sync::Barrier;
use std::thread;

use serde::Serialize;

use crate::{allocations, stopwatch};

/// The locked versions of this build: they are read, never typed.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// Operations whose allocations are counted; enough for a mean that shows a rare one.
const COUNTED: u64 = 1_000;

/// Less than this cannot be told from nothing; it keeps ratios finite.
const RESOLUTION: f64 = 0.1;

/// The time limit of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    rounds: usize,
    operations: u64,
}

impl Effort {
    /// The whole measurement, or a quick look that shows only that it runs.
    pub(crate) fn of(quick: bool) -> Self {
        match quick {
            true => Self { rounds: 5, operations: 2_000 },
            false => Self { rounds: 7, operations: 50_000 },
        }
    }
}

/// One line of the table.
#[derive(Debug, Serialize)]
pub(crate) struct GroupRow {
    group: String,
    name: String,
    version: String,
    /// Median nanoseconds of processor time for one operation, less the bare loop's.
    ns_over_bare: f64,
    /// The same of the fastest and of the slowest round.
    ns_low: f64,
    ns_high: f64,
    /// This row's `ns_over_bare` by ours.
    ratio_to_ours: f64,
    /// Mean calls to the allocator for one operation.
    allocations: f64,
}

/// Runs that many operations on this thread.
type Work<'a> = Box<dyn Fn(u64) + Sync + 'a>;

/// Rows that do the same thing.
pub(crate) struct Group<'a> {
    name: String,
    threads: u64,
    bare: Work<'a>,
    cases: Vec<(String, String, Work<'a>)>,
}

impl<'a> Group<'a> {
    /// An empty group over the loop that does nothing but the operation itself.
    pub(crate) fn new(name: impl Into<String>, bare: impl Fn(u64) + Sync + 'a) -> Self {
        Self { name: name.into(), threads: 1, bare: Box::new(bare), cases: Vec::new() }
    }

    /// The same with so many threads on one value.
    pub(crate) fn threads(mut self, threads: u64) -> Self {
        self.threads = threads;
        self
    }

    /// Adds a row: the package first, then what of it, if the group has several of one package.
    pub(crate) fn case(
        mut self,
        package: &str,
        variant: &str,
        work: impl Fn(u64) + Sync + 'a,
    ) -> Self {
        let name = match variant {
            "" => package.to_owned(),
            _ => format!("{package} ({variant})"),
        };
        self.cases.push((package.to_owned(), name, Box::new(work)));
        self
    }

    /// Measures.
    pub(crate) fn rows(self, effort: Effort) -> Vec<GroupRow> {
        let operations = effort.operations / self.threads;
        let counted: Vec<u64> = self
            .cases
            .iter()
            .map(|(_, _, work)| {
                work(COUNTED);
                allocations::of(|| work(COUNTED))
            })
            .collect();
        let mut bare = Vec::new();
        let mut samples = vec![Vec::new(); self.cases.len()];
        for _ in 0..effort.rounds {
            bare.push(sample(&*self.bare, self.threads, operations));
            for ((_, _, work), samples) in self.cases.iter().zip(&mut samples) {
                samples.push(sample(&**work, self.threads, operations));
            }
        }
        let bare = spread(bare).1;
        let figures: Vec<_> = samples.into_iter().map(spread).collect();
        let ours = self.cases.iter().position(|(_, name, _)| name == "stagger");
        let ours = ours.map_or(f64::NAN, |at| (figures[at].1 - bare).max(RESOLUTION));
        self.cases
            .into_iter()
            .zip(figures)
            .zip(counted)
            .map(|(((package, name, _), (low, mid, high)), counted)| GroupRow {
                group: self.name.clone(),
                name,
                version: version(&package),
                ns_over_bare: round(mid - bare),
                ns_low: round(low - bare),
                ns_high: round(high - bare),
                ratio_to_ours: round((mid - bare).max(0.0) / ours),
                allocations: round(counted as f64 / COUNTED as f64),
            })
            .collect()
    }
}

/// Nanoseconds of processor time for one operation, over all threads.
fn sample(work: &(dyn Fn(u64) + Sync), threads: u64, operations: u64) -> f64 {
    let timed = || {
        let start = stopwatch::thread_nanos();
        work(operations);
        stopwatch::thread_nanos() - start
    };
    if threads == 1 {
        return timed() as f64 / operations as f64;
    }
    let barrier = Barrier::new(threads as usize);
    let total: u64 = thread::scope(|scope| {
        let start = || {
            barrier.wait();
            timed()
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(start)).collect();
        running.into_iter().map(|thread| thread.join().expect("no operation panics")).sum()
    });
    total as f64 / (operations * threads) as f64
}

/// Lowest, median and highest.
fn spread(mut samples: Vec<f64>) -> (f64, f64, f64) {
    samples.sort_by(f64::total_cmp);
    (samples[0], samples[samples.len() / 2], samples[samples.len() - 1])
}

fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// The version of `package` in the lock file; the newest where there are two.
pub(crate) fn version(package: &str) -> String {
    let head = format!("name = \"{package}\"\nversion = \"");
    let tail = LOCK.rsplit_once(&head).map_or("", |(_, tail)| tail);
    tail.split('"').next().unwrap_or_default().to_owned()
}

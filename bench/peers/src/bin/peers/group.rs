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

/// The measurement that a run makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effort<'a> {
    /// All rows, in so many rounds of so many operations.
    Rows { rounds: usize, operations: u64 },
    /// Nothing: one case alone makes so many operations, for a profiler. The bare loop of a group has the name `bare`.
    Case { group: &'a str, name: &'a str, operations: u64 },
}

impl<'a> Effort<'a> {
    /// The whole measurement; `--quick`, which shows only that it runs; or `--case GROUP NAME OPERATIONS`.
    pub(crate) fn of(arguments: &'a [String]) -> Self {
        match arguments {
            [flag, group, name, operations] if flag == "--case" => {
                let operations = operations.parse().unwrap_or(0);
                Self::Case { group, name, operations }
            }
            [flag] if flag == "--quick" => Self::Rows { rounds: 5, operations: 2_000 },
            _ => Self::Rows { rounds: 7, operations: 50_000 },
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
    /// The use of the difference, where this row costs less than ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// Runs that many operations on this thread.
type Work<'a> = Box<dyn Fn(u64) + Sync + 'a>;

/// Rows that do the same thing.
pub(crate) struct Group<'a> {
    name: String,
    threads: u64,
    bare: Work<'a>,
    cases: Vec<Case<'a>>,
}

struct Case<'a> {
    package: String,
    name: String,
    work: Work<'a>,
    reason: Option<&'static str>,
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
        let (package, work) = (package.to_owned(), Box::new(work));
        self.cases.push(Case { package, name, work, reason: None });
        self
    }

    /// Says of the last row why it may cost less than ours.
    pub(crate) fn because(mut self, reason: &'static str) -> Self {
        if let Some(last) = self.cases.last_mut() {
            last.reason = Some(reason);
        }
        self
    }

    /// Measures.
    pub(crate) fn rows(self, effort: Effort<'_>) -> Vec<GroupRow> {
        match effort {
            Effort::Rows { rounds, operations } => self.measure(rounds, operations),
            Effort::Case { group, name, operations } => {
                if group == self.name {
                    self.run(name, operations);
                }
                Vec::new()
            }
        }
    }

    /// Makes the operations of one case.
    fn run(&self, name: &str, operations: u64) {
        let case = self.cases.iter().find(|case| case.name == name);
        case.map_or(&self.bare, |case| &case.work)(operations);
    }

    fn measure(self, rounds: usize, operations: u64) -> Vec<GroupRow> {
        let operations = operations / self.threads;
        let counted: Vec<u64> = self
            .cases
            .iter()
            .map(|case| {
                (case.work)(COUNTED);
                allocations::of(|| (case.work)(COUNTED))
            })
            .collect();
        let mut bare = Vec::new();
        let mut samples = vec![Vec::new(); self.cases.len()];
        for _ in 0..rounds {
            bare.push(sample(&*self.bare, self.threads, operations));
            for (case, samples) in self.cases.iter().zip(&mut samples) {
                samples.push(sample(&*case.work, self.threads, operations));
            }
        }
        let bare = spread(bare).1;
        let figures: Vec<_> = samples.into_iter().map(spread).collect();
        let ours = self.cases.iter().position(|case| case.name == "stagger");
        let ours = ours.map_or(f64::NAN, |at| (figures[at].1 - bare).max(RESOLUTION));
        self.cases
            .into_iter()
            .zip(figures)
            .zip(counted)
            .map(|((case, (low, mid, high)), counted)| GroupRow {
                group: self.name.clone(),
                version: version(&case.package),
                name: case.name,
                ns_over_bare: round(mid - bare),
                ns_low: round(low - bare),
                ns_high: round(high - bare),
                ratio_to_ours: round((mid - bare).max(0.0) / ours),
                allocations: round(counted as f64 / COUNTED as f64),
                reason: case.reason.filter(|_| mid - bare < ours),
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

//! A scenario as data: cases to vary, and entries to compare in each of them.

use stagger_core::{ConfigError, Instant, Policy, Span};

use super::contention::Contention;
use crate::law::{Law, Schedule};
use crate::plan::{Caller, Plan};
use crate::report::{CaseReport, Report, Row};
use crate::tally::Tally;
use crate::thread_pool::ThreadPool;
use crate::waits::Equal;
use crate::world::{Played, World};

/// The scenario to play: every entry of every case, under the same seeds.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: String,
    /// The events of the scenario, in one sentence.
    pub about: String,
    /// The lesson of the scenario, in a few sentences for people.
    pub lesson: String,
    /// The seed of all runs.
    pub seed: u64,
    /// Runs of every entry, each under a seed of its own.
    pub runs: u32,
    /// The quantity that differs between cases, with its unit: `outage [s]`. `None` when there is one case.
    pub varied: Option<String>,
    /// The events whose peak is reported.
    pub peak: Peak,
    /// The settings that every row shares, as name and value, for captions.
    pub parameters: Vec<(String, String)>,
    /// The cases, in order.
    pub cases: Vec<Case>,
}

/// One setting of what the scenario varies.
#[derive(Clone, Debug)]
pub struct Case {
    /// The case's name: `0.2 s`.
    pub label: String,
    /// Its place on an axis, in the unit of [`Scenario::varied`].
    pub value: f64,
    /// Stretches of trouble, to be shaded in pictures.
    pub outages: Vec<(Instant, Instant)>,
    /// The backend's capacity, in attempts a second, if it has a bound.
    pub capacity: Option<f64>,
    /// The compared entries. The first never retries.
    pub entries: Vec<Entry>,
}

/// One way to come back.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The entry's name: a law, a policy, a policy with its server.
    pub name: String,
    /// The run of this entry.
    pub play: Play,
}

impl Entry {
    /// The figures of its runs.
    fn row(&self, tally: &Tally, peak: Peak) -> Row {
        let row = Row::new(&self.name, tally, peak);
        let stretch = match &self.play {
            Play::World(plan) => plan.watch.evenness_in,
            Play::Contention(_) => None,
        };
        let worst_over_mean = stretch.and_then(|stretch| row.series.worst_over_mean(stretch));
        Row { worst_over_mean, ..row }
    }

    /// A row of this name.
    pub(super) fn new(name: impl Into<String>, plan: Plan) -> Self {
        Self { name: name.into(), play: Play::World(Box::new(plan)) }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub enum Play {
    /// Callers, a network and a backend.
    World(Box<Plan>),
    /// Writers that contend for one row.
    Contention(Box<Contention>),
}

/// The events whose peak a scenario reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peak {
    /// Attempts that reach the backend.
    Attempts,
    /// Calls that are served.
    Served,
}

/// A user's changes to a scenario that ships; `None` leaves its own value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The seed of all runs; 1 when left out.
    pub seed: Option<u64>,
    /// Runs of every entry.
    pub runs: Option<u32>,
    /// Callers.
    pub callers: Option<u32>,
    /// The instant at which the backend is up again, from the origin.
    pub up_at: Option<Span>,
    /// Callers a second who never retry, beside those who are looked at.
    pub beside: Option<u32>,
    /// The first ceiling.
    pub base: Option<Span>,
    /// The bound of every ceiling.
    pub cap: Option<Span>,
    /// Attempts a call may make in all.
    pub attempts: Option<u32>,
    /// The laws to compare; the scenario's own when empty.
    pub laws: Vec<Law>,
    /// The property that compared laws have in common.
    pub equal: Equal,
    /// Policies to put beside the laws, by name.
    pub policies: Vec<(String, Policy)>,
}

impl Default for Scenario {
    /// No cases, one run of seed 1.
    fn default() -> Self {
        Self {
            name: String::new(),
            about: String::new(),
            lesson: String::new(),
            seed: 1,
            runs: 1,
            varied: None,
            peak: Peak::Attempts,
            parameters: Vec::new(),
            cases: Vec::new(),
        }
    }
}

impl Scenario {
    /// Jobs that [`ThreadPool::telling`] will hear of.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        let entries: usize = self.cases.iter().map(|case| case.entries.len()).sum();
        u64::from(self.runs) * entries as u64
    }

    /// Plays all runs, or as many as `pool` has time for.
    #[must_use]
    pub fn run(&self, pool: &ThreadPool<'_>) -> Report {
        let entries = self.cases.iter().flat_map(|case| &case.entries);
        let plays: Vec<&Play> = entries.map(|entry| &entry.play).collect();
        let mut tallies = Tally::of(&plays, self.seed, self.runs, pool).into_iter();
        let cases = self.cases.iter().map(|case| {
            let rows = case.entries.iter().zip(&mut tallies);
            CaseReport {
                label: case.label.clone(),
                value: case.value,
                outages: case.outages.clone(),
                capacity: case.capacity,
                rows: rows.map(|(entry, tally)| entry.row(&tally, self.peak)).collect(),
            }
        });
        let cases = cases.collect();
        Report {
            name: self.name.clone(),
            about: self.about.clone(),
            lesson: self.lesson.clone(),
            seed: self.seed,
            runs: self.runs,
            varied: self.varied.clone(),
            peak: self.peak,
            parameters: self.parameters.clone(),
            cases,
        }
    }
}

impl Case {
    /// A case without trouble, bound or entries.
    #[must_use]
    pub const fn new(label: String, value: f64) -> Self {
        Self { label, value, outages: Vec::new(), capacity: None, entries: Vec::new() }
    }

    /// Whether `other` plays the same under the same name. A value that is not a number equals itself:
    /// cases have one that lie on no axis.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let Self { label, value, outages, capacity, entries } = self;
        *label == other.label
            && value.total_cmp(&other.value).is_eq()
            && *outages == other.outages
            && *capacity == other.capacity
            && *entries == other.entries
    }
}

/// One entry for each caller.
pub(super) fn entries(compared: &[(String, Caller)], plan: impl Fn(&Caller) -> Plan) -> Vec<Entry> {
    let entry = |(name, caller): &(String, Caller)| Entry::new(name.as_str(), plan(caller));
    compared.iter().map(entry).collect()
}

impl Play {
    /// Plays one run.
    pub fn run(&self, world: &mut World, seed: u64) -> Played {
        match self {
            Self::World(plan) => world.play(plan, seed),
            Self::Contention(contention) => contention.play(seed),
        }
    }
}

impl Options {
    /// The schedule of the laws, with what the user changed.
    #[must_use]
    pub fn schedule(&self, default: Schedule) -> Schedule {
        Schedule {
            base: self.base.unwrap_or(default.base),
            cap: self.cap.unwrap_or(default.cap),
            attempts: self.attempts.unwrap_or(default.attempts),
        }
    }

    /// The callers to compare, by name: never to retry first, then the laws, then the user's own.
    ///
    /// # Errors
    /// A schedule that the engine refuses.
    pub fn callers(
        &self,
        laws: &[Law],
        schedule: &Schedule,
    ) -> Result<Vec<(String, Caller)>, ConfigError> {
        let asked = |law: &Law| self.laws.is_empty() || self.laws.contains(law);
        let laws = laws.iter().copied().filter(|&law| law != Law::NoRetry && asked(&law));
        let mut all = Vec::new();
        for law in [Law::NoRetry].into_iter().chain(laws) {
            let schedule = self.equal.schedule(law, schedule)?;
            all.push((law.name().to_owned(), law.caller(&schedule)?));
        }
        let own = self.policies.iter();
        all.extend(own.map(|(name, policy)| (name.clone(), Caller::new(*policy))));
        Ok(all)
    }
}

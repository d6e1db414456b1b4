//! A scenario as data: what a user changes, the cases to vary, and the entries to compare in each of them.

use std::fmt;

use stagger_core::{ConfigError, Instant, Policy, Span};

use super::play::{Peak, Play};
use crate::law::{Law, Schedule};
use crate::plan::{CallerLayer, RunPlan};
use crate::run_tally::RunTally;
use crate::storm_report::{CaseReport, EntryReport, StormReport};
use crate::thread_pool::ThreadPool;
use crate::waits::Equal;

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
    pub cases: Vec<ScenarioCase>,
}

/// One setting of what the scenario varies.
#[derive(Clone, Debug)]
pub struct ScenarioCase {
    /// The case's name: `0.2 s`.
    pub label: String,
    /// Its place on an axis, in the unit of [`Scenario::varied`].
    pub value: f64,
    /// Stretches of trouble, to be shaded in pictures.
    pub outages: Vec<(Instant, Instant)>,
    /// The backend's capacity, in attempts a second, if it has a bound.
    pub capacity: Option<f64>,
    /// The compared entries. The first never retries.
    pub entries: Vec<ScenarioEntry>,
}

/// One way to come back.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioEntry {
    /// The entry's name: a law, a policy, a policy with its server.
    pub name: String,
    /// The run of this entry.
    pub play: Play,
}

impl ScenarioEntry {
    /// The figures of its runs.
    fn row(&self, tally: &RunTally, peak: Peak) -> EntryReport {
        let row = tally.row(&self.name, peak);
        let stretch = match &self.play {
            Play::Run(plan) => plan.watch.evenness_in,
            Play::Contention(_) => None,
        };
        let worst_over_mean = stretch.and_then(|stretch| row.series.worst_over_mean(stretch));
        EntryReport { worst_over_mean, ..row }
    }

    /// A row of this name.
    pub(super) fn new(name: impl Into<String>, plan: RunPlan) -> Self {
        Self { name: name.into(), play: Play::Run(Box::new(plan)) }
    }
}

impl Default for Scenario {
    /// No cases, one run of seed 1.
    fn default() -> Self {
        Self::new("", 1, Vec::new(), Vec::new())
    }
}

impl Scenario {
    /// These cases under seed 1, without a name; the catalogue knows that.
    pub(super) fn new(
        lesson: &str,
        runs: u32,
        parameters: Vec<(String, String)>,
        cases: Vec<ScenarioCase>,
    ) -> Self {
        Self {
            name: String::new(),
            about: String::new(),
            lesson: lesson.to_owned(),
            seed: 1,
            runs,
            varied: None,
            peak: Peak::Attempts,
            parameters,
            cases,
        }
    }

    /// The same scenario, whose cases differ in this quantity.
    pub(super) fn varying(self, quantity: &str) -> Self {
        Self { varied: Some(quantity.to_owned()), ..self }
    }

    /// The same scenario, which reports the peak of calls served.
    pub(super) fn counting_served(self) -> Self {
        Self { peak: Peak::Served, ..self }
    }

    /// The same scenario with one more setting for captions.
    pub(super) fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.parameters.push((name.to_owned(), value.to_string()));
        self
    }

    /// Jobs that [`ThreadPool::telling`] will hear of.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        let entries: usize = self.cases.iter().map(|case| case.entries.len()).sum();
        u64::from(self.runs) * entries as u64
    }

    /// Plays all runs, or as many as `pool` has time for.
    #[must_use]
    pub fn run(&self, pool: &ThreadPool<'_>) -> StormReport {
        let entries = self.cases.iter().flat_map(|case| &case.entries);
        let plays: Vec<&Play> = entries.map(|entry| &entry.play).collect();
        let mut tallies = RunTally::of(&plays, self.seed, self.runs, pool).into_iter();
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
        StormReport {
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

impl ScenarioCase {
    /// A case without trouble or bound.
    #[must_use]
    pub fn new(label: impl Into<String>, value: f64, entries: Vec<ScenarioEntry>) -> Self {
        Self { label: label.into(), value, outages: Vec::new(), capacity: None, entries }
    }

    /// The same case with one stretch of trouble.
    #[must_use]
    pub fn outage(mut self, stretch: (Instant, Instant)) -> Self {
        self.outages.push(stretch);
        self
    }

    /// The same case with a bound of the backend, in attempts a second.
    #[must_use]
    pub fn capacity(self, attempts: f64) -> Self {
        Self { capacity: Some(attempts), ..self }
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
pub(super) fn entries(
    compared: &[(String, CallerLayer)],
    plan: impl Fn(&CallerLayer) -> RunPlan,
) -> Vec<ScenarioEntry> {
    let entry =
        |(name, caller): &(String, CallerLayer)| ScenarioEntry::new(name.as_str(), plan(caller));
    compared.iter().map(entry).collect()
}

/// A user's changes to a scenario that ships; `None` leaves its own value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StormOptions {
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

impl StormOptions {
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
    ) -> Result<Vec<(String, CallerLayer)>, ConfigError> {
        let asked = |law: &Law| self.laws.is_empty() || self.laws.contains(law);
        let laws = laws.iter().copied().filter(|&law| law != Law::NoRetry && asked(&law));
        let mut all = Vec::new();
        for law in [Law::NoRetry].into_iter().chain(laws) {
            let schedule = self.equal.schedule(law, schedule)?;
            all.push((law.name().to_owned(), law.caller(&schedule)?));
        }
        let own = self.policies.iter();
        all.extend(own.map(|(name, policy)| (name.clone(), CallerLayer::new(*policy))));
        Ok(all)
    }
}

//! A scenario as data: cases to vary, and entries to compare in each of them.

use stagger_core::Instant;

use super::play::{Peak, Play};
use crate::plan::{CallerLayer, RunPlan};
use crate::run_tally::RunTally;
use crate::storm_report::{CaseReport, EntryReport, StormReport};
use crate::thread_pool::ThreadPool;

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
pub(super) fn entries(
    compared: &[(String, CallerLayer)],
    plan: impl Fn(&CallerLayer) -> RunPlan,
) -> Vec<ScenarioEntry> {
    let entry =
        |(name, caller): &(String, CallerLayer)| ScenarioEntry::new(name.as_str(), plan(caller));
    compared.iter().map(entry).collect()
}

//! The whole of it: worlds and an objective in, the best of the candidates and the front out.

use stagger_core::{ConfigError, Policy, Span};
use stagger_sim::ThreadPool;

use crate::objective::CallObjective;
use crate::paired::{DifferenceVerdict, PairedDifference};
use crate::reference::{CHOOSE, DEFAULT, references, within};
use crate::search::{Search, SearchSizes};
use crate::source::WorldSource;
use crate::space::SearchSpace;
use crate::trial::{MeanFigures, SharedWorlds, Trial, mean};
use crate::world::PlayedWorld;

/// The number of the first held-out world: far beyond those of the search.
const HELD_OUT: u32 = 1 << 20;
/// The three policies between which the verdict chooses are played in so many times the worlds of the rows.
const DECISION: usize = 3;
/// Least and most events of one search.
const EVENTS: (u64, u64) = (1_000_000, 100_000_000_000);
/// Events of one call, about: its arrival, the end of its work, its timeouts, and its retries.
const EVENTS_OF_CALL: f64 = 4.0;
/// Runs of a world that a search with enough events makes, and the calls of such a world.
const RUNS: f64 = 3_000.0;
const CALLS: (f64, f64) = (1_000.0, 6_000.0);

/// The settings of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneOptions {
    /// The objective of the calls.
    pub objective: CallObjective,
    /// The seed: the same one gives the same report, on every machine and with any threads.
    pub seed: u64,
    /// The events that are simulated, about.
    pub events: u64,
    /// Policies of the user's own, by name, that are candidates too. Their deadline becomes that of the
    /// objective unless it is shorter.
    pub own: Vec<(String, Policy)>,
}

impl TuneOptions {
    /// Events of one search unless set: a quarter of a minute on two cores.
    pub const EVENTS: u64 = 60_000_000;

    /// An objective, seed 1, and [`EVENTS`](Self::EVENTS).
    #[must_use]
    pub const fn new(objective: CallObjective) -> Self {
        Self { objective, seed: 1, events: Self::EVENTS, own: Vec::new() }
    }
}

/// The results of a search. The rows are judged on held-out worlds that the search has not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneReport {
    /// The settings.
    pub options: TuneOptions,
    /// Candidates that were tried, references included.
    pub candidates: usize,
    /// Worlds that the finalists were chosen in.
    pub training_worlds: usize,
    /// Worlds that the rows were judged in; the verdict has three times as many.
    pub held_out_worlds: usize,
    /// The factor by which load, capacity and processes were divided to keep the worlds small.
    pub scale: f64,
    /// Events that were simulated.
    pub events: u64,
    /// The finalists and the references, the lowest cost in the held-out worlds first.
    pub rows: Vec<TunedRow>,
    /// The row of the lowest cost in the training worlds.
    pub winner: usize,
    /// The row that is recommended.
    pub recommended: usize,
    /// The reason for the recommendation.
    pub verdict: TuneVerdict,
    /// The cost of the winner minus that of the default policy, in the held-out worlds.
    pub against_default: PairedDifference,
}

/// The reason for a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneVerdict {
    /// The winner beats the default policy beyond noise.
    Winner,
    /// The winner does not beat the default beyond noise, or is worse than the answer of the decision
    /// tree; that one beats the default beyond noise.
    Choose,
    /// Nothing beats the default policy beyond noise.
    Default,
}

/// A policy with its figures, as means over the held-out worlds.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedRow {
    /// The name: that of a reference, or the number of a candidate.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    /// Whether it is one of those that every search has.
    pub is_reference: bool,
    /// The share of calls that succeeded within the deadline, from 0 to 1.
    pub success: f64,
    /// Attempts a call beyond the first.
    pub added_load: f64,
    /// The mean over the worlds of the 99th percentile of latency; the deadline counts where no call
    /// succeeded.
    pub p99: Span,
    /// The share of calls that misses the objective.
    pub miss: f64,
    /// The scalar by which policies are compared.
    pub cost: f64,
    /// Whether no other row is as good in success, added load and latency, and better in one.
    pub on_front: bool,
    /// The cost of this row minus that of the recommended one, in the same worlds.
    pub difference: PairedDifference,
}

impl TuneReport {
    /// The row of this name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&TunedRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The row that is recommended.
    #[must_use]
    pub fn recommended(&self) -> &TunedRow {
        &self.rows[self.recommended]
    }
}

/// Searches the policy of the lowest cost, and judges it on worlds that the search has not seen.
///
/// # Errors
/// `events` out of its bounds or too few for worlds of this size; a source without a plan; a pool that was
/// stopped, because a search that is cut short decides nothing.
///
/// ```
/// use stagger_core::{Ratio, Span};
/// use stagger_sim::ThreadPool;
/// use stagger_tune::{CallObjective, TuneOptions, WorldModel, WorldSource, tune};
/// let objective = CallObjective::new(Ratio::from_ppm(999_000), Span::from_secs(2))?;
/// let options = TuneOptions { events: 10, ..TuneOptions::new(objective) };
/// let source = WorldSource::Model(WorldModel::new(100.0, 200.0)?);
/// let error = tune(&source, &options, &ThreadPool::single()).unwrap_err();
/// assert_eq!(error.to_string(), "events = 10: must be from 1000000 to 100000000000");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
pub fn tune(
    source: &WorldSource,
    options: &TuneOptions,
    pool: &ThreadPool<'_>,
) -> Result<TuneReport, ConfigError> {
    let TuneOptions { objective, seed, events, .. } = *options;
    if !(EVENTS.0..=EVENTS.1).contains(&events) {
        let bound = format!("from {} to {}", EVENTS.0, EVENTS.1);
        return Err(ConfigError::new("events", events, bound));
    }
    let (source, scale) = source.scaled(calls_of_world(events));
    let worlds = |first| SharedWorlds::new(&source, objective, (seed, first), pool);
    let sample = sample(&worlds(0), &objective)?;
    let least = sample.least_events();
    if events < least {
        let bound = format!("at least {least} for worlds of {} calls", sample.calls);
        return Err(ConfigError::new("events", events, bound));
    }
    let runs = float(events) / float(sample.figures.events.max(1));
    let facts = source.facts(&sample);
    let mut references = references(objective.deadline(), &facts)?;
    for (name, policy) in &options.own {
        references.push((name.clone(), within(policy, objective.deadline())?));
    }
    let sizes = SearchSizes::of(runs);
    let space = SearchSpace::new(objective.deadline(), &facts);
    let plan = (sizes, seed, objective.deadline());
    let mut search = Search::new(space, worlds(0), plan, references);
    let last = search.run()?;
    let mut finalists: Vec<Trial> =
        last.iter().map(|&trial| search.trials[trial].fresh()).collect();
    let mut held_out = worlds(HELD_OUT);
    let all: Vec<usize> = (0..finalists.len()).collect();
    held_out.play(&mut finalists, &all, sizes.held_out)?;
    let mut decided = vec![0, place(&finalists, DEFAULT), place(&finalists, CHOOSE)];
    // The winner may be one of the two.
    decided.sort_unstable();
    decided.dedup();
    held_out.play(&mut finalists, &decided, sizes.held_out * DECISION)?;
    let judged = Judged { finalists, worlds: sizes.held_out, objective };
    Ok(judged.report(options, &search, (sizes, scale, held_out.events)))
}

/// Plays policies in `count` worlds from the number `first` on, and returns the cost of each policy in each
/// world. The worlds are as large as those of a search with these options; its own are numbered from 0
/// and from 2^20 on.
///
/// # Errors
/// A source without a plan, or a pool that was stopped.
pub fn play(
    source: &WorldSource,
    options: &TuneOptions,
    policies: &[Policy],
    (first, count): (u32, usize),
    pool: &ThreadPool<'_>,
) -> Result<Vec<Vec<f64>>, ConfigError> {
    let (source, _) = source.scaled(calls_of_world(options.events));
    let mut worlds = SharedWorlds::new(&source, options.objective, (options.seed, first), pool);
    let trial = |policy: &Policy| Trial::new(String::new(), *policy, false);
    let mut trials: Vec<Trial> = policies.iter().map(trial).collect();
    let all: Vec<usize> = (0..trials.len()).collect();
    worlds.play(&mut trials, &all, count)?;
    Ok(trials.into_iter().map(|trial| trial.costs).collect())
}

/// The calls of the longest world of a search of so many events.
fn calls_of_world(events: u64) -> f64 {
    (float(events) / RUNS / EVENTS_OF_CALL).clamp(CALLS.0, CALLS.1)
}

/// The fewest events of a search in worlds of this source; [`tune`] refuses fewer.
///
/// # Errors
/// A source without a plan.
pub fn least_events(source: &WorldSource, options: &TuneOptions) -> Result<u64, ConfigError> {
    let TuneOptions { objective, seed, events, .. } = *options;
    let (source, _) = source.scaled(calls_of_world(events));
    let pool = ThreadPool::single();
    let played = sample(&SharedWorlds::new(&source, objective, (seed, 0), &pool), &objective)?;
    Ok(played.least_events().max(EVENTS.0))
}

/// The first world under the default policy, by which the size of all worlds is estimated.
fn sample(
    worlds: &SharedWorlds<'_>,
    objective: &CallObjective,
) -> Result<PlayedWorld, ConfigError> {
    let policy = Policy::default().to_builder().deadline(objective.deadline()).build()?;
    worlds.sample(&policy)
}

impl PlayedWorld {
    const fn least_events(&self) -> u64 {
        self.figures.events.saturating_mul(SearchSizes::LEAST_RUNS)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of events are below 2^53")]
const fn float(n: u64) -> f64 {
    n as f64
}

/// The place of a reference among the finalists.
fn place(finalists: &[Trial], name: &str) -> usize {
    // OK because the references are always among them; 0 is the winner.
    finalists.iter().position(|trial| trial.name == name).unwrap_or(0)
}

/// The finalists with their figures in the held-out worlds, the winner of the training first.
struct Judged {
    finalists: Vec<Trial>,
    /// Worlds that all of them have figures of.
    worlds: usize,
    objective: CallObjective,
}

impl Judged {
    /// The cost of one finalist minus that of another, in all worlds that both have figures of.
    fn difference(&self, first: usize, second: usize) -> PairedDifference {
        PairedDifference::of(&self.finalists[first].costs, &self.finalists[second].costs)
    }

    /// The winner if it beats the default beyond noise and is not worse than the decision tree's answer; else
    /// that answer if it beats the default; else the default.
    fn verdict(&self) -> (TuneVerdict, usize) {
        let (default, chosen) = (place(&self.finalists, DEFAULT), place(&self.finalists, CHOOSE));
        let beats =
            |place: usize| self.difference(place, default).verdict() == DifferenceVerdict::Lower;
        let worse = self.difference(0, chosen).verdict() == DifferenceVerdict::Higher;
        match () {
            () if beats(0) && !worse => (TuneVerdict::Winner, 0),
            () if beats(chosen) => (TuneVerdict::Choose, chosen),
            () => (TuneVerdict::Default, default),
        }
    }

    fn report(
        &self,
        options: &TuneOptions,
        search: &Search<'_>,
        (sizes, scale, events): (SearchSizes, f64, u64),
    ) -> TuneReport {
        let (verdict, recommended) = self.verdict();
        let deadline = self.objective.deadline();
        let means: Vec<MeanFigures> =
            self.finalists.iter().map(|trial| trial.means(self.worlds, deadline)).collect();
        let mut rows: Vec<(usize, TunedRow)> = (0..self.finalists.len())
            .map(|place| (place, self.row(place, recommended, &means)))
            .collect();
        rows.sort_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost));
        let now = |place: usize| rows.iter().position(|(old, _)| *old == place).unwrap_or(0);
        TuneReport {
            options: options.clone(),
            candidates: search.trials.len(),
            training_worlds: sizes.training,
            held_out_worlds: sizes.held_out,
            scale,
            events: search.events() + events,
            winner: now(0),
            recommended: now(recommended),
            verdict,
            against_default: self.difference(0, place(&self.finalists, DEFAULT)),
            rows: rows.into_iter().map(|(_, row)| row).collect(),
        }
    }

    fn row(&self, place: usize, recommended: usize, means: &[MeanFigures]) -> TunedRow {
        let (trial, own) = (&self.finalists[place], means[place]);
        let misses: Vec<f64> = trial
            .figures
            .iter()
            .take(self.worlds)
            .map(|figures| self.objective.miss(figures))
            .collect();
        TunedRow {
            name: trial.name.clone(),
            policy: trial.policy,
            is_reference: trial.is_reference,
            success: own.success,
            added_load: own.added_load,
            p99: crate::dice::seconds(own.p99),
            miss: mean(&misses),
            cost: trial.cost(self.worlds),
            on_front: !means.iter().any(|other| other.dominates(&own)),
            difference: self.difference(place, recommended),
        }
    }
}

//! Trials: candidates with their figures, world by world.

use stagger_core::{ConfigError, Policy, Span};
use stagger_sim::{Simulation, ThreadPool};

use crate::objective::{CallObjective, WorldFigures};
use crate::source::WorldSource;
use crate::world::{PlayedWorld, World};

/// A candidate with its figures in the worlds that it was played in, in order.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    /// Whether it is one of those that every search has.
    pub(crate) is_reference: bool,
    pub(crate) figures: Vec<WorldFigures>,
    pub(crate) costs: Vec<f64>,
}

impl Trial {
    pub(crate) const fn new(name: String, policy: Policy, is_reference: bool) -> Self {
        Self { name, policy, is_reference, figures: Vec::new(), costs: Vec::new() }
    }

    /// The same candidate without figures.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.name.clone(), self.policy, self.is_reference)
    }

    /// The mean cost over the first `worlds`; without bound when fewer were played.
    pub(crate) fn cost(&self, worlds: usize) -> f64 {
        self.costs.get(..worlds).map_or(f64::INFINITY, mean)
    }

    /// The means over the first `worlds`; the 99th percentile of a world without a success is `deadline`.
    pub(crate) fn means(&self, worlds: usize, deadline: Span) -> MeanFigures {
        let of = |value: &dyn Fn(&WorldFigures) -> f64| {
            mean(&self.figures.iter().take(worlds).map(value).collect::<Vec<_>>())
        };
        MeanFigures {
            success: of(&|figures| figures.success),
            added_load: of(&|figures| figures.added_load),
            p99: of(&|figures| figures.p99.unwrap_or(deadline).as_secs_f64()),
        }
    }
}

/// The three figures by which candidates are compared, as means over worlds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanFigures {
    pub(crate) success: f64,
    pub(crate) added_load: f64,
    /// In seconds.
    pub(crate) p99: f64,
}

impl MeanFigures {
    /// Whether these figures are at least as good in each of the three, and better in one.
    pub(crate) fn dominates(&self, other: &Self) -> bool {
        let no_worse = self.success >= other.success
            && self.added_load <= other.added_load
            && self.p99 <= other.p99;
        no_worse && self != other
    }
}

/// The mean of some numbers; zero of none.
#[expect(clippy::cast_precision_loss, reason = "a number of worlds")]
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The worlds that all candidates share, and the events that were played in them.
#[derive(Debug)]
pub(crate) struct SharedWorlds<'a> {
    source: &'a WorldSource,
    objective: CallObjective,
    pool: &'a ThreadPool<'a>,
    seed: u64,
    /// The number of the first world.
    first: u32,
    pub(crate) events: u64,
}

impl<'a> SharedWorlds<'a> {
    /// The worlds of a source from the number `first` on.
    pub(crate) const fn new(
        source: &'a WorldSource,
        objective: CallObjective,
        (seed, first): (u64, u32),
        pool: &'a ThreadPool<'a>,
    ) -> Self {
        Self { source, objective, pool, seed, first, events: 0 }
    }

    /// Plays a policy in the first world.
    ///
    /// # Errors
    /// A source without a plan.
    pub(crate) fn sample(&self, policy: &Policy) -> Result<PlayedWorld, ConfigError> {
        Ok(self.worlds(1)?[0].play(&mut Simulation::new(), policy, &self.objective))
    }

    /// Plays the trials of these numbers until each has figures of so many worlds.
    ///
    /// # Errors
    /// A source without a plan, or a pool that was stopped.
    pub(crate) fn play(
        &mut self,
        trials: &mut [Trial],
        which: &[usize],
        worlds: usize,
    ) -> Result<(), ConfigError> {
        let all = self.worlds(worlds)?;
        let missing =
            |&trial: &usize| (trials[trial].figures.len()..worlds).map(move |w| (trial, w));
        let jobs: Vec<(usize, usize)> = which.iter().flat_map(missing).collect();
        let (policies, objective) = (&*trials, self.objective);
        let start = || (Simulation::new(), Vec::new());
        let shares = self.pool.share(jobs.len() as u64, start, |(simulation, played), number| {
            // OK because a number is below the number of jobs.
            let job = usize::try_from(number).unwrap_or(usize::MAX);
            let (trial, world) = jobs[job];
            let figures = all[world].play(simulation, &policies[trial].policy, &objective).figures;
            played.push((job, figures));
        });
        let mut played: Vec<_> = shares.into_iter().flat_map(|(_, played)| played).collect();
        if played.len() < jobs.len() {
            return Err(ConfigError::new("pool", "stopped", "left to play all worlds"));
        }
        // The order of jobs, whichever thread did which.
        played.sort_unstable_by_key(|(job, _)| *job);
        for (job, figures) in played {
            self.events += figures.events;
            let trial = &mut trials[jobs[job].0];
            trial.costs.push(objective.cost(&figures));
            trial.figures.push(figures);
        }
        Ok(())
    }

    fn worlds(&self, count: usize) -> Result<Vec<World>, ConfigError> {
        let numbers = (self.first..).take(count);
        let worlds: Option<Vec<World>> =
            numbers.map(|number| self.source.world(self.seed, number)).collect();
        worlds.ok_or_else(|| ConfigError::new("plans", 0, "at least one plan"))
    }
}

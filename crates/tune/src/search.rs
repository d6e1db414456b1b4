//! The search: successive halving over drawn candidates, then steps from the best ones.
//!
//! Successive halving (Jamieson and Talwalkar, 2016) plays many candidates in few worlds, and ever fewer
//! in ever more. All candidates meet the same worlds, so that their differences are paired (common random
//! numbers; Law, Simulation Modeling and Analysis, chapter 11).

use stagger_core::{ConfigError, Policy, Span};

use crate::dice::{Dice, DrawPurpose};
use crate::space::SearchSpace;
use crate::trial::{MeanFigures, SharedWorlds, Trial};

/// Worlds of the first round: enough to tell a bad candidate.
pub(crate) const FIRST_WORLDS: usize = 4;
/// Worlds of later rounds.
pub(crate) const MORE_WORLDS: usize = 12;
/// One candidate in so many survives the first round.
const KEPT: usize = 3;
/// Rounds of steps from the best candidates.
const ROUNDS: usize = 4;
/// Candidates that steps are made from.
const PARENTS: usize = 3;
/// Candidates that are played in all worlds for their cost, and as many for being on the front.
const FINALISTS: usize = 5;
/// Candidates of the last comparison at most, references included.
pub(crate) const LAST: usize = 2 * FINALISTS + 7;

/// Shares of all runs: the first round, one round of steps, the last comparison, and the held-out worlds.
/// A survivor of the first round has two thirds of that round's share once more.
const FIRST_SHARE: f64 = 0.21;
const STEP_SHARE: f64 = 0.06;
const LAST_SHARE: f64 = 0.15;
const HELD_OUT_SHARE: f64 = 0.26;

/// The sizes of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SearchSizes {
    /// Drawn candidates.
    drawn: usize,
    /// Candidates in one round of steps.
    steps: usize,
    /// Worlds of the last comparison.
    pub(crate) training: usize,
    /// Worlds of the judgement.
    pub(crate) held_out: usize,
}

impl SearchSizes {
    /// The fewest runs of a world that a search is worth.
    pub(crate) const LEAST_RUNS: u64 = 1_200;

    /// The sizes for so many runs of a world in all.
    pub(crate) fn of(runs: f64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "small constants")]
        let part = |share: f64, each: usize| whole(runs * share / each as f64);
        Self {
            drawn: part(FIRST_SHARE, FIRST_WORLDS).clamp(24, 400),
            steps: part(STEP_SHARE, MORE_WORLDS).clamp(6, 60),
            training: MORE_WORLDS + part(LAST_SHARE, LAST).clamp(8, 200),
            held_out: part(HELD_OUT_SHARE, LAST).clamp(16, 400),
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
const fn whole(value: f64) -> usize {
    // OK because a cast from float to integer saturates.
    value as usize
}

/// The candidates of one search so far.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    space: SearchSpace,
    worlds: SharedWorlds<'a>,
    sizes: SearchSizes,
    seed: u64,
    deadline: Span,
    pub(crate) trials: Vec<Trial>,
}

impl<'a> Search<'a> {
    /// A search that begins with the references.
    pub(crate) fn new(
        space: SearchSpace,
        worlds: SharedWorlds<'a>,
        (sizes, seed, deadline): (SearchSizes, u64, Span),
        references: Vec<(String, Policy)>,
    ) -> Self {
        let reference = |(name, policy)| Trial::new(name, policy, true);
        let trials = references.into_iter().map(reference).collect();
        Self { space, worlds, sizes, seed, deadline, trials }
    }

    /// Plays all rounds; returns the numbers of the finalists with the best one first.
    ///
    /// # Errors
    /// A source without a plan, or a pool that was stopped.
    pub(crate) fn run(&mut self) -> Result<Vec<usize>, ConfigError> {
        self.draw();
        let all: Vec<usize> = (0..self.trials.len()).collect();
        self.play(&all, FIRST_WORLDS)?;
        let kept = self.best(all.len() / KEPT, FIRST_WORLDS);
        self.play(&kept, MORE_WORLDS)?;
        for round in 0..ROUNDS {
            let new = self.step(round);
            self.play(&new, MORE_WORLDS)?;
        }
        let mut last = self.finalists();
        let training = self.sizes.training;
        self.play(&last, training)?;
        let costs = |a: &usize, b: &usize| {
            let cost = |trial: usize| self.trials[trial].cost(training);
            cost(*a).total_cmp(&cost(*b))
        };
        // Stable, so that of equals a reference comes first.
        last.sort_by(costs);
        Ok(last)
    }

    /// The events that were played.
    pub(crate) const fn events(&self) -> u64 {
        self.worlds.events
    }

    /// Adds drawn candidates.
    fn draw(&mut self) {
        for number in (0..).take(self.sizes.drawn) {
            let mut dice = Dice::new(self.seed, DrawPurpose::Candidate, number);
            if let Some(policy) = self.space.random(&mut dice) {
                self.add(policy);
            }
        }
    }

    /// Adds neighbours of the best candidates, drawn from all that are new; returns their numbers.
    fn step(&mut self, round: usize) -> Vec<usize> {
        let parents = self.distinct(MORE_WORLDS);
        let parents: Vec<Policy> =
            parents.into_iter().take(PARENTS).map(|trial| self.trials[trial].policy).collect();
        let mut near: Vec<Policy> =
            parents.iter().flat_map(|policy| self.space.neighbours(policy)).collect();
        // OK because there are few rounds.
        let number = u32::MAX - u32::try_from(round).unwrap_or(0);
        let mut dice = Dice::new(self.seed, DrawPurpose::Candidate, number);
        let mut new = Vec::new();
        while new.len() < self.sizes.steps && !near.is_empty() {
            let policy = near.swap_remove(dice.below(near.len()));
            new.extend(self.add(policy));
        }
        new
    }

    /// Adds a candidate unless it is there; returns its number.
    fn add(&mut self, policy: Policy) -> Option<usize> {
        if self.trials.iter().any(|trial| trial.policy == policy) {
            return None;
        }
        let number = self.trials.len();
        self.trials.push(Trial::new(format!("candidate-{number}"), policy, false));
        Some(number)
    }

    fn play(&mut self, which: &[usize], worlds: usize) -> Result<(), ConfigError> {
        self.worlds.play(&mut self.trials, which, worlds)
    }

    /// All references, and so many candidates of the lowest cost in the first `worlds`.
    fn best(&self, count: usize, worlds: usize) -> Vec<usize> {
        let mut kept = self.distinct(worlds);
        kept.truncate(count);
        let references = (0..self.trials.len()).filter(|&trial| self.trials[trial].is_reference);
        let missing: Vec<usize> = references.filter(|trial| !kept.contains(trial)).collect();
        kept.extend(missing);
        kept
    }

    /// The trials with figures of so many worlds, the cheapest first, without those whose costs equal
    /// those of an earlier one in every world: their settings make no difference there.
    fn distinct(&self, worlds: usize) -> Vec<usize> {
        let played = |trial: &usize| self.trials[*trial].costs.len() >= worlds;
        let mut all: Vec<usize> = (0..self.trials.len()).filter(played).collect();
        all.sort_by(|a, b| self.trials[*a].cost(worlds).total_cmp(&self.trials[*b].cost(worlds)));
        let costs = |trial: usize| &self.trials[trial].costs[..worlds];
        // Equal costs have equal means, so equals are neighbours unless another has the same mean.
        all.dedup_by(|later, earlier| costs(*later) == costs(*earlier));
        all
    }

    /// The references, the candidates of the lowest cost, and as many of the front.
    fn finalists(&self) -> Vec<usize> {
        let is_new = |trial: &usize| !self.trials[*trial].is_reference;
        let ranked = self.distinct(MORE_WORLDS);
        let means: Vec<MeanFigures> = ranked
            .iter()
            .map(|&trial| self.trials[trial].means(MORE_WORLDS, self.deadline))
            .collect();
        let on_front = |place: usize| !means.iter().any(|other| other.dominates(&means[place]));
        let cheap = ranked.iter().copied().filter(is_new).take(FINALISTS);
        let mut last: Vec<usize> =
            (0..self.trials.len()).filter(|trial| !is_new(trial)).chain(cheap).collect();
        let places = (0..ranked.len()).filter(|&place| on_front(place));
        let front: Vec<usize> =
            places.map(|place| ranked[place]).filter(|trial| !last.contains(trial)).collect();
        last.extend(front.into_iter().take(FINALISTS));
        last
    }
}

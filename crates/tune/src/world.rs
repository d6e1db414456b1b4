//! A world: one plan of traffic, server and trouble under one seed, in which any policy can be played.

use stagger_core::{ConfigError, Policy, Span};
use stagger_sim::{CallerLayer, LedgerModel, RunPlan, Simulation};

use crate::objective::{CallObjective, WorldFigures};

/// A plan in which the policy of some layers is left open.
#[derive(Clone, Debug)]
pub struct WorldTemplate {
    plan: RunPlan,
    open: Vec<usize>,
}

impl WorldTemplate {
    /// A template from a plan: the layers of callers under the policy `marker` are those that are tuned.
    ///
    /// # Errors
    /// `layer` when no layer has that policy; `fleet` when the ledger does not follow the budget of the
    /// policy, which could then not be tuned.
    pub fn new(plan: RunPlan, marker: &Policy) -> Result<Self, ConfigError> {
        if plan.fleet.ledger != LedgerModel::Engine {
            let bound = "without deposit, lifetime, shared and window_rule: the budgets are those of the candidates";
            return Err(ConfigError::new("fleet", "a ledger of its own", bound));
        }
        let layers = plan.callers.iter().enumerate();
        let is_open = |layer: &CallerLayer| layer.foreign.is_none() && layer.policy == *marker;
        let open: Vec<usize> =
            layers.filter(|(_, layer)| is_open(layer)).map(|(number, _)| number).collect();
        if open.is_empty() {
            return Err(ConfigError::new("layer", "none", "a plan with a layer that is compared"));
        }
        Ok(Self { plan, open })
    }

    /// A plan of one layer, which is tuned.
    pub(crate) const fn of_one(plan: RunPlan, open: Vec<usize>) -> Self {
        Self { plan, open }
    }

    /// The plan.
    pub(crate) const fn plan(&self) -> &RunPlan {
        &self.plan
    }

    /// The world of this template under a seed.
    pub(crate) fn world(&self, seed: u64) -> World {
        World { template: self.clone(), seed }
    }
}

/// One template under one seed.
#[derive(Clone, Debug)]
pub(crate) struct World {
    template: WorldTemplate,
    seed: u64,
}

/// A world as it went under one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlayedWorld {
    pub(crate) figures: WorldFigures,
    pub(crate) calls: u64,
    pub(crate) length: Span,
}

impl World {
    /// Plays the world under a policy.
    pub(crate) fn play(
        &self,
        simulation: &mut Simulation,
        policy: &Policy,
        objective: &CallObjective,
    ) -> PlayedWorld {
        let mut plan = self.template.plan.clone();
        for &layer in &self.template.open {
            plan.callers[layer] = CallerLayer::new(*policy);
        }
        let played = simulation.play(&plan, self.seed);
        let share = |part: u64| ratio(part, played.calls);
        let within = |limit: Span| share(played.latency.within(limit));
        let success = within(objective.deadline());
        let attempts = played.attempts.total.saturating_sub(played.bystanding);
        let figures = WorldFigures {
            success,
            prompt: objective.p99().map_or(success, within),
            added_load: share(attempts) - 1.0,
            p99: played.latency.quantile(0.99),
            events: played.events,
        };
        PlayedWorld { figures, calls: played.calls, length: played.length }
    }
}

/// `part / whole`; zero when there is no whole.
#[expect(clippy::cast_precision_loss, reason = "counts of calls are far below 2^53")]
pub(crate) const fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

//! The source of worlds: a model from which they are drawn, or plans that only chance varies.

use stagger_core::Span;

use crate::dice::{Dice, DrawPurpose};
use crate::model::WorldModel;
use crate::world::{PlayedWorld, World, WorldTemplate, ratio};

/// The source of the worlds in which policies are compared.
#[derive(Clone, Debug)]
pub enum WorldSource {
    /// Each world draws its outage from the model.
    Model(WorldModel),
    /// The worlds go through these plans in order, each time under another seed.
    Plans(Vec<WorldTemplate>),
}

/// The facts of a source that the search and the decision tree use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SourceFacts {
    /// Processes that share the calls.
    pub(crate) processes: u32,
    /// First attempts a second of one process.
    pub(crate) rps: f64,
    /// The mean time of the work on one attempt.
    pub(crate) service: Span,
}

impl SourceFacts {
    /// The p99 of the work on one attempt, as of the exponential law: ln(100) times the mean.
    pub(crate) fn p99(&self) -> Span {
        let nanos = self.service.as_nanos() / 1_000 * 4_605;
        Span::from_nanos(nanos.max(1_000)).min(Span::from_secs(60 * 60))
    }
}

impl WorldSource {
    /// The same source with about so many calls in a world, and the factor by which it was scaled
    /// down. Plans stay as they are.
    pub(crate) fn scaled(&self, calls: f64) -> (Self, f64) {
        match self {
            Self::Model(model) => {
                let (model, factor) = model.scaled(calls);
                (Self::Model(model), factor)
            }
            Self::Plans(_) => (self.clone(), 1.0),
        }
    }

    /// The world of this number; `None` for a source without a plan.
    pub(crate) fn world(&self, seed: u64, number: u32) -> Option<World> {
        let world_seed = Dice::new(seed, DrawPurpose::World, number).word();
        match self {
            Self::Model(model) => Some(model.template(seed, number).world(world_seed)),
            Self::Plans(plans) => {
                let place = number as usize % plans.len().max(1);
                plans.get(place).map(|template| template.world(world_seed))
            }
        }
    }

    /// The facts of this source, as one of its worlds shows them.
    pub(crate) fn facts(&self, played: &PlayedWorld) -> SourceFacts {
        let (processes, service) = match self {
            Self::Model(model) => (model.processes(), model.service()),
            Self::Plans(plans) => {
                let plan = plans.first().map(WorldTemplate::plan);
                let processes = plan.map_or(1, |plan| plan.fleet.processes.max(1));
                (processes, plan.map_or(Span::ZERO, |plan| plan.backend.service.mean()))
            }
        };
        let each = ratio(played.calls, u64::from(processes));
        SourceFacts { processes, rps: each / played.length.as_secs_f64().max(1e-9), service }
    }
}

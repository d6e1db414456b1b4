//! One run of a scenario, and the events whose peak it counts.

use super::contention::Contention;
use crate::plan::RunPlan;
use crate::simulation::{Played, Simulation};

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub enum Play {
    /// Callers, a network and a backend.
    Run(Box<RunPlan>),
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

impl Play {
    /// Plays one run.
    pub fn run(&self, simulation: &mut Simulation, seed: u64) -> Played {
        match self {
            Self::Run(plan) => simulation.play(plan, seed),
            Self::Contention(contention) => contention.play(seed),
        }
    }
}

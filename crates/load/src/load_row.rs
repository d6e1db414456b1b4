//! The rows of a scenario that can be played over sockets.

use stagger_sim::{
    LedgerModel, Play, QueueDiscipline, RunPlan, Scenario, ScenarioEntry, Scope, Users,
};

use crate::error::LoadError;

/// A row of a scenario: a way to come back, with all that surrounds it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadRow {
    /// Its name: a law, a policy.
    pub name: String,
    /// Its run.
    pub plan: RunPlan,
}

/// A row that only the lab can play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    /// Its name.
    pub name: String,
    /// The part that has no equivalent outside of the lab.
    pub reason: &'static str,
}

/// The rows of one scenario, and its seed.
///
/// ```
/// use stagger_load::LoadRows;
/// use stagger_sim::{Named, StormOptions};
/// let options = StormOptions { callers: Some(200), ..StormOptions::default() };
/// let herd = Named::find("herd").expect("it ships").scenario(&options)?;
/// let rows = LoadRows::of(&herd)?;
/// assert!(rows.rows.iter().any(|row| row.name == "full"));
/// assert!(rows.skipped.iter().all(|row| row.reason.contains("law")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LoadRows {
    /// The name of the scenario.
    pub scenario: String,
    /// The seed of every run.
    pub seed: u64,
    /// The rows that can be played.
    pub rows: Vec<LoadRow>,
    /// The rows that cannot.
    pub skipped: Vec<SkippedRow>,
}

impl LoadRows {
    /// The rows of a scenario.
    ///
    /// # Errors
    /// Several cases, a part of the scenario that exists in the lab alone, or no row that can be played.
    pub fn of(scenario: &Scenario) -> Result<Self, LoadError> {
        let [case] = &scenario.cases[..] else {
            return Err(LoadError::scenario(format!(
                "the scenario '{}' has {} cases, and a run over sockets plays one: set the value that varies, as by --callers or --up-at",
                scenario.name,
                scenario.cases.len()
            )));
        };
        let mut all = Self {
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            rows: Vec::new(),
            skipped: Vec::new(),
        };
        for entry in &case.entries {
            match played(entry) {
                Ok(plan) => all.rows.push(LoadRow { name: entry.name.clone(), plan }),
                Err(reason) => all.skipped.push(SkippedRow { name: entry.name.clone(), reason }),
            }
        }
        match (&all.rows[..], &all.skipped[..]) {
            ([], [first, ..]) => Err(LoadError::scenario(format!(
                "the scenario '{}' cannot be played over sockets: {}",
                scenario.name, first.reason
            ))),
            _ => Ok(all),
        }
    }
}

fn played(entry: &ScenarioEntry) -> Result<RunPlan, &'static str> {
    let Play::Run(plan) = &entry.play else {
        return Err("writers that contend for a row are no callers");
    };
    let fleet = &plan.fleet;
    let parts = [
        (plan.callers.len() != 1, "it has several layers of callers"),
        (plan.callers[0].foreign.is_some(), "the law is not in the engine"),
        (fleet.ledger != LedgerModel::Engine, "its budget is not the engine's"),
        (plan.users != Users::default(), "its users give up and click again"),
        (serves_by_criticality(plan), "its server serves calls by their criticality"),
        (fleet.connections.is_some(), "its processes have pools of connections"),
        (fleet.steady_breakers, "its breakers are without jitter"),
        (
            fleet.scope == Scope::Shard && plan.backend.shards > 1,
            "its processes keep the shards of the server apart",
        ),
    ];
    match parts.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, reason)) => Err(reason),
        None => Ok((**plan).clone()),
    }
}

fn serves_by_criticality(plan: &RunPlan) -> bool {
    let order = plan.backend.workers.as_ref().map(|workers| workers.order);
    order == Some(QueueDiscipline::ByCriticality)
}

#[cfg(test)]
mod tests {
    use stagger_sim::{CATALOGUE, StormOptions};

    use super::*;

    #[test]
    fn a_scenario_of_layers_or_of_many_cases_was_played() {
        let some = StormOptions { callers: Some(10), ..StormOptions::default() };
        for (name, options, refused) in [
            ("contention", some, "contend"),
            ("lockstep", StormOptions::default(), "cases"),
            ("layers", StormOptions::default(), "several layers of callers"),
        ] {
            let named = CATALOGUE.iter().find(|named| named.name == name).expect("it ships");
            let mut scenario = named.scenario(&options).expect("options that it knows");
            if name == "layers" {
                scenario.cases.truncate(1);
            }
            let error = LoadRows::of(&scenario).expect_err(name);
            assert!(error.is_scenario() && error.to_string().contains(refused), "{error}");
        }
    }
}

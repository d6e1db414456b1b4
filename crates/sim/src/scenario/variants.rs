//! One law under several budgets, beside callers that never retry.

use stagger_core::ConfigError;
use stagger_core::budget::BudgetPlan;

use super::{ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{CallerLayer, Fleet, LedgerModel, RunPlan};

/// A budget, and the processes that keep it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) budget: BudgetPlan,
    pub(super) processes: u32,
    pub(super) ledger: LedgerModel,
}

/// Full jitter under each budget. Callers that never retry come first and have no budget; policies of
/// the user keep their own. Both live in so many processes with the engine's ledger.
pub(super) fn entries(
    options: &StormOptions,
    schedule: &Schedule,
    processes: u32,
    variants: &[Variant],
    plan: impl Fn(CallerLayer, Fleet) -> RunPlan,
) -> Result<Vec<ScenarioEntry>, ConfigError> {
    let mut entries = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], schedule)? {
        let is_own = options.policies.iter().any(|(own, _)| *own == name);
        if is_own || name == Law::NoRetry.name() {
            let fleet = Fleet { processes, ..Fleet::default() };
            entries.push(ScenarioEntry::new(name, plan(caller, fleet)));
            continue;
        }
        for &Variant { name, budget, processes, ledger } in variants {
            let policy = caller.policy.to_builder().budget(budget).build()?;
            let fleet = Fleet { processes, ledger, ..Fleet::default() };
            entries.push(ScenarioEntry::new(
                name,
                plan(CallerLayer { policy, ..caller.clone() }, fleet),
            ));
        }
    }
    Ok(entries)
}

//! Further copies of slow calls: `hedge-at-once`, `hedge-without-budget`.

use stagger_core::Policy;
use stagger_core::budget::BudgetPlan;

use super::delays::retries;
use crate::{Code, Finding, Setting};

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<Finding>) {
    let Some(plan) = policy.hedge() else { return };
    // Copies are attempts, and counted as such.
    let further = retries(policy, plan.copies() - 1);
    if further == 0 {
        return;
    }
    let copies = further + 1;
    if !plan.is_measured() && plan.delay(None).is_zero() {
        found.push(Finding::warning(
            Code::HedgeAtOnce,
            "hedge.delay",
            format!(
                "a delay of 0s sends each call {copies} times at once, also when nothing is slow"
            ),
            "quantile = 0.95, which sends a copy of the slowest twentieth",
        ));
    }
    if *policy.budget() == BudgetPlan::Unlimited {
        found.push(Finding::warning(
            Code::HedgeWithoutBudget,
            "budget",
            format!(
                "nothing bounds further copies: when all calls are slow the load is {copies} times \
                 what it was, on a destination that is slow already"
            ),
            "[budget.window] with ratio = 0.1, which counts copies too",
        ));
    }
}

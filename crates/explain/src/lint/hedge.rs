//! Further copies of slow calls: `hedge-at-once`, `hedge-without-budget`, `hedge-never`.

use stagger_core::Policy;
use stagger_core::budget::BudgetPlan;
use stagger_core::hedge::HedgePlan;

use super::delays::retries;
use crate::{Code, PolicyFinding, Setting};

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(plan) = policy.hedge() else { return };
    found.extend(too_few_attempts(policy, plan));
    found.extend(too_late(policy, plan));
    // Copies are attempts, and counted as such.
    let further = retries(policy, plan.copies() - 1);
    if further == 0 {
        return;
    }
    let copies = further + 1;
    if !plan.is_measured() && plan.delay(None).is_zero() {
        found.push(PolicyFinding::warning(
            Code::HedgeAtOnce,
            "hedge.delay",
            format!(
                "a delay of 0s sends each call {copies} times at once, also when nothing is slow"
            ),
            "quantile = 0.95, which sends a copy of the slowest twentieth",
        ));
    }
    if *policy.budget() == BudgetPlan::Unlimited {
        found.push(PolicyFinding::warning(
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

/// Copies are attempts, and counted as such.
fn too_few_attempts(policy: &Policy, plan: &HedgePlan) -> Option<PolicyFinding> {
    let attempts = policy.limits().max_attempts().filter(|attempts| *attempts < plan.copies())?;
    let copies = plan.copies();
    let never = if attempts == 1 {
        "no further copy is sent".to_owned()
    } else {
        format!("only {attempts} are sent")
    };
    Some(PolicyFinding::warning(
        Code::HedgeNever,
        "limits.max_attempts",
        format!("{copies} copies are wanted and max_attempts is {attempts}: {never}"),
        format!("max_attempts = {copies} at least, as copies are attempts"),
    ))
}

/// A copy that is due when its call or the attempt before it has ended. With a quantile the delay
/// holds only until latencies are known.
fn too_late(policy: &Policy, plan: &HedgePlan) -> Option<PolicyFinding> {
    let (delay, limits) = (plan.delay(None), policy.limits());
    if plan.is_measured() {
        return None;
    }
    let ends = [("deadline", limits.deadline()), ("attempt_timeout", limits.attempt_timeout())];
    let ended = ends.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
    let (name, limit) =
        ended.min_by_key(|(_, limit)| *limit).filter(|(_, limit)| delay >= *limit)?;
    Some(PolicyFinding::warning(
        Code::HedgeNever,
        "hedge.delay",
        format!(
            "a copy is due after {delay}, and {name} ends the first one after {limit}: none is sent"
        ),
        "a delay near the p95 of one attempt, or quantile = 0.95",
    ))
}

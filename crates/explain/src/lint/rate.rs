//! Retries that a budget grants whatever the traffic: `loose-budget`.

use stagger_core::Policy;
use stagger_core::budget::BudgetPlan;
use stagger_text::rough_count;

use super::delays::retrying;
use crate::{Code, PolicyFinding, Setting};

/// Retries a second that a process with little traffic may have besides its share: Finagle's default
/// (`minRetriesPerSec`).
const LITTLE: f64 = 10.0;
/// Retries for each first attempt, as for the shares of budgets.
const SHARE: f64 = 0.5;
/// Retries a second that bound nothing, where the traffic is not known: half of a traffic that few
/// processes have.
const MUCH: f64 = 1_000.0;

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) {
        return;
    }
    let (key, name, rate) = match policy.budget() {
        BudgetPlan::Window(plan) => ("budget.window.floor", "floor", plan.floor().rate().as_f64()),
        BudgetPlan::Interval(plan) => {
            let rate = f64::from(plan.retries()) / plan.interval().as_secs_f64();
            ("budget.interval.interval", "interval", rate)
        }
        _ => return,
    };
    let most = setting.rps.map_or(MUCH, |rps| LITTLE.max(SHARE * rps));
    if rate <= most {
        return;
    }
    let made = setting.rps.map_or_else(
        || "whatever the traffic".to_owned(),
        |rps| format!("where {} first attempts a second are made", rough_count(rps)),
    );
    found.push(PolicyFinding::warning(
        Code::LooseBudget,
        key,
        format!(
            "the {name} grants {} retries a second {made}: it bounds nothing",
            rough_count(rate)
        ),
        "[budget.window] with ratio = 0.1, and a floor of a retry a second or less",
    ));
}

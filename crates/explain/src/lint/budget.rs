//! Rules of the budget: `no-budget`, `loose-budget`, `budget-never-refills`, and
//! budgets that grant none as `attempts-never-start`.

use stagger_core::budget::{BudgetPlan, Charge, TokenPlan, WindowPlan};
use stagger_core::{Policy, Rate, Ratio};
use stagger_text::{rough_count, rough_percent};

use super::delays::retrying;
use super::reserve::refused;
use crate::{Code, PolicyFinding, Setting};

/// Retries for each first attempt. The published rules grant a tenth to a quarter: 10 % ("Handling
/// Overload", *Site Reliability Engineering*), 20 % (Finagle), 25 % (Envoy).
const MOST: f64 = 0.5;

const WINDOW: &str = "[budget.window] with ratio = 0.1, which is the default";

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) {
        return;
    }
    found.extend(match policy.budget() {
        BudgetPlan::Unlimited => unlimited(policy, setting),
        BudgetPlan::None => Some(nothing("budget", "none")),
        BudgetPlan::Window(plan) => window(plan),
        BudgetPlan::Tokens(plan) => tokens(plan),
        BudgetPlan::Throttle(plan) => {
            loose("budget.throttle.token_ratio", plan.token_ratio().as_f64())
        }
        _ => None,
    });
    let promised = |finding: &PolicyFinding| {
        finding.code == Code::AttemptsNeverStart && finding.key.starts_with("budget")
    };
    if !found.iter().any(promised) {
        found.extend(refused(policy, setting));
    }
}

/// An error where the load that it lets through is known to be more than the destination serves.
fn unlimited(policy: &Policy, setting: &Setting) -> Option<PolicyFinding> {
    let attempts = policy.limits().max_attempts();
    let copies = policy.hedge().map_or(1, |hedge| hedge.copies());
    if attempts.is_some_and(|attempts| attempts <= copies) {
        return None;
    }
    let by = attempts.map_or_else(|| "as often as calls have time".into(), |n| format!("by {n}"));
    let message =
        format!("nothing bounds retries: an outage multiplies the load on the destination {by}");
    let load = setting.rps.zip(setting.fleet).zip(attempts);
    let load = load.map(|((rps, fleet), attempts)| rps * f64::from(fleet) * f64::from(attempts));
    Some(match load.zip(setting.downstream_capacity) {
        Some((load, capacity)) if load > capacity => PolicyFinding::error(
            Code::NoBudget,
            "budget",
            format!(
                "{message}, to {} attempts a second where {} are served",
                rough_count(load),
                rough_count(capacity)
            ),
            WINDOW,
        ),
        _ => PolicyFinding::warning(Code::NoBudget, "budget", message, WINDOW),
    })
}

fn nothing(key: &'static str, shown: &str) -> PolicyFinding {
    PolicyFinding::warning(
        Code::AttemptsNeverStart,
        key,
        format!("a budget of {shown} grants no retry: attempts from 2 on never start"),
        "max_attempts = 1 to say so, or a budget that grants some",
    )
}

fn window(plan: &WindowPlan) -> Option<PolicyFinding> {
    if plan.ratio() == Ratio::ZERO && plan.floor().rate() == Rate::ZERO && plan.burst() == 0 {
        return Some(nothing("budget.window.ratio", "ratio 0 and floor 0"));
    }
    loose("budget.window.ratio", plan.ratio().as_f64())
}

fn tokens(plan: &TokenPlan) -> Option<PolicyFinding> {
    if plan.first_try() == 0 {
        let grants = plan.initial() / plan.cost(Charge::Retry);
        return Some(PolicyFinding::error(
            Code::BudgetNeverRefills,
            "budget.tokens.first_try",
            format!(
                "first attempts give nothing back: after {grants} retries without success there is \
                 no retry until the process ends"
            ),
            "first_try = 1",
        ));
    }
    loose("budget.tokens.retry", f64::from(plan.first_try()) / f64::from(plan.cost(Charge::Retry)))
}

fn loose(key: &'static str, ratio: f64) -> Option<PolicyFinding> {
    (ratio > MOST).then(|| {
        PolicyFinding::warning(
            Code::LooseBudget,
            key,
            format!(
                "the budget grants {} retries for each call that goes well, {} of the load on top",
                rough_count(ratio),
                rough_percent(ratio)
            ),
            "a tenth to a fifth of a retry for each, as in [budget.window] ratio = 0.1",
        )
    })
}

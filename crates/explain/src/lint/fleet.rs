//! `fleet-budget`: what the budgets of all processes let through, against what is served.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, Span};
use stagger_text::rough_count;

use super::delays::retrying;
use crate::fleet::one;
use crate::{Code, PolicyFinding, Setting};

/// The time for which a queued retry is worth its answer, without an attempt timeout.
const PATIENCE: Span = Span::from_secs(1);

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let (Some(fleet), Some(capacity)) = (setting.fleet, setting.downstream_capacity) else {
        return;
    };
    if !retrying(policy) {
        return;
    }
    let rps = setting.rps.unwrap_or(0.0);
    let Some(key) = key(policy.budget(), rps) else { return };
    let (steady, burst) = one(policy.budget(), rps);
    let fleet = f64::from(fleet);
    let asked = asked(policy, setting) * fleet;
    let retries = (steady * fleet).min(asked);
    let firsts = rps * fleet;
    let patience = policy.limits().attempt_timeout().unwrap_or(PATIENCE);
    let queue = capacity * patience.as_secs_f64();
    let queued = queued(burst * fleet, asked, (capacity - firsts).max(0.0));
    let served = rough_count(capacity);
    let fix = fix(policy, capacity, fleet);
    if retries > capacity {
        let message = format!(
            "in an outage the fleet makes {} retries a second where {served} are served: no server \
             comes back below that",
            rough_count(retries)
        );
        found.push(PolicyFinding::error(Code::FleetBudget, key, message, fix));
    } else if retries > 0.0 && retries + firsts > capacity {
        let message = format!(
            "in an outage the fleet makes {} first attempts and {} retries a second where {served} \
             are served: the overload outlives its cause",
            rough_count(firsts),
            rough_count(retries)
        );
        found.push(PolicyFinding::warning(Code::FleetBudget, key, message, fix));
    } else if queued > queue {
        let message = format!(
            "when an outage begins the fleet may make {} retries at once: {} calls queue where {} are \
             served in the {patience} that an answer is waited for, so answers come too late",
            rough_count(burst * fleet),
            rough_count(queued),
            rough_count(queue)
        );
        found.push(PolicyFinding::warning(Code::FleetBudget, key, message, fix));
    }
}

/// The calls that queue while saved-up grants are spent on `asked` retries a second, of which
/// `spare` can be served.
fn queued(burst: f64, asked: f64, spare: f64) -> f64 {
    if asked.is_infinite() { burst } else { burst * (1.0 - spare / asked).max(0.0) }
}

/// The retries a second that one process asks for when all attempts fail.
fn asked(policy: &Policy, setting: &Setting) -> f64 {
    let (rps, attempts) = (setting.rps, policy.limits().max_attempts());
    rps.zip(attempts).map_or(f64::INFINITY, |(rps, attempts)| rps * f64::from(attempts - 1))
}

/// The setting that grants the most; none for a budget that grants everything or nothing.
fn key(plan: &BudgetPlan, rps: f64) -> Option<&'static str> {
    match plan {
        BudgetPlan::Window(plan) => {
            let mostly_floor = plan.floor().rate().as_f64() > rps * plan.ratio().as_f64();
            Some(if mostly_floor { "budget.window.floor" } else { "budget.window.ratio" })
        }
        BudgetPlan::Tokens(_) => Some("budget.tokens.capacity"),
        BudgetPlan::Throttle(_) => Some("budget.throttle.max_tokens"),
        BudgetPlan::Interval(_) => Some("budget.interval.retries"),
        _ => None,
    }
}

fn fix(policy: &Policy, capacity: f64, fleet: f64) -> String {
    let share = rough_count(capacity / fleet);
    match policy.budget() {
        BudgetPlan::Window(_) => format!(
            "a smaller ratio and floor, or a shorter window: each of the processes has a share of \
             {share} a second of what is served, first attempts included"
        ),
        _ => format!(
            "a smaller budget: each of the processes has a share of {share} a second of what is served"
        ),
    }
}

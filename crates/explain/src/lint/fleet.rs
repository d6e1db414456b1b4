//! `fleet-budget`: what the budgets of all processes let through, against what is served.

use stagger_core::budget::{BudgetPlan, Charge, Floor, TokenPlan, WindowPlan};
use stagger_core::{Policy, Span};

use super::delays::retrying;
use super::figure::count;
use crate::{Code, Finding, Setting};

/// How long a queued retry is worth its answer where no attempt timeout says it.
const PATIENCE: Span = Span::from_secs(1);

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<Finding>) {
    let (Some(fleet), Some(capacity)) = (setting.fleet, setting.downstream_capacity) else {
        return;
    };
    if !retrying(policy) {
        return;
    }
    let Some(each) = Grants::of(policy, setting.rps.unwrap_or(0.0)) else { return };
    let fleet = f64::from(fleet);
    let asked = asked(policy, setting) * fleet;
    let retries = (each.per_s * fleet).min(asked);
    let firsts = setting.rps.unwrap_or(0.0) * fleet;
    let patience = policy.limits().attempt_timeout().unwrap_or(PATIENCE);
    let queue = capacity * patience.as_secs_f64();
    let queued = queued(each.burst * fleet, asked, capacity - firsts);
    let served = count(capacity);
    let fix = fix(policy, capacity, fleet);
    if retries > capacity {
        let message = format!(
            "in an outage the fleet makes {} retries a second where {served} are served: no server \
             comes back below that",
            count(retries)
        );
        found.push(Finding::error(Code::FleetBudget, each.key, message, fix));
    } else if retries + firsts > capacity {
        let message = format!(
            "in an outage the fleet makes {} first attempts and {} retries a second where {served} \
             are served: the overload outlives its cause",
            count(firsts),
            count(retries)
        );
        found.push(Finding::warning(Code::FleetBudget, each.key, message, fix));
    } else if queued > queue {
        let message = format!(
            "when an outage begins the fleet may make {} retries at once: {} calls queue where {} are \
             served in the {patience} that an answer is waited for, so answers come too late",
            count(each.burst * fleet),
            count(queued),
            count(queue)
        );
        found.push(Finding::warning(Code::FleetBudget, each.key, message, fix));
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

/// What the budget of one process grants in a total outage.
struct Grants {
    /// The setting that grants most of it.
    key: &'static str,
    per_s: f64,
    /// At once, when nothing has been granted for a while.
    burst: f64,
}

impl Grants {
    /// None for a budget that grants everything or nothing.
    fn of(policy: &Policy, rps: f64) -> Option<Self> {
        match policy.budget() {
            BudgetPlan::Window(plan) => Some(Self::window(plan, rps)),
            BudgetPlan::Tokens(plan) => Some(Self {
                key: "budget.tokens.capacity",
                per_s: 0.0,
                burst: f64::from(plan.capacity() / cheapest(plan)),
            }),
            BudgetPlan::Throttle(plan) => Some(Self {
                key: "budget.throttle.max_tokens",
                per_s: 0.0,
                burst: f64::from(plan.max_tokens().div_ceil(2)),
            }),
            BudgetPlan::Interval(plan) => {
                let retries = f64::from(plan.retries());
                let per_s = retries / plan.interval().as_secs_f64();
                Some(Self { key: "budget.interval.retries", per_s, burst: retries })
            }
            _ => None,
        }
    }

    fn window(plan: &WindowPlan, rps: f64) -> Self {
        let share = rps * plan.ratio().as_f64();
        let (floor, per_s) = match plan.floor() {
            Floor::Add(n) => (f64::from(n), share + f64::from(n)),
            Floor::AtLeast(n) => (f64::from(n), share.max(f64::from(n))),
        };
        let key = if floor > share { "budget.window.floor" } else { "budget.window.ratio" };
        Self { key, per_s, burst: per_s * plan.window().as_secs_f64() }
    }
}

fn cheapest(plan: &TokenPlan) -> u32 {
    let costs = [Charge::Retry, Charge::Timeout, Charge::Throttled].map(|charge| plan.cost(charge));
    costs.into_iter().min().unwrap_or(1).max(1)
}

fn fix(policy: &Policy, capacity: f64, fleet: f64) -> String {
    let share = count(capacity / fleet);
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

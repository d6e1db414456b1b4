//! Rules of the budget: of one process, and of a fleet.

use stagger_core::budget::{BudgetPlan, Charge, TokenPlan, WindowPlan};
use stagger_core::{Policy, Rate, Ratio, Span};
use stagger_text::{percent, rough_count};

use super::delays::retrying;
use super::reserve::refused;
use crate::granted::one;
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
                percent(ratio)
            ),
            "a tenth to a fifth of a retry for each, as in [budget.window] ratio = 0.1",
        )
    })
}

/// Retries a second that a process with little traffic may have besides its share: Finagle's default
/// (`minRetriesPerSec`).
const LITTLE: f64 = 10.0;

/// Retries for each first attempt, as for the shares of budgets.
const SHARE: f64 = 0.5;

/// Retries a second that bound nothing, where the traffic is not known: half of a traffic that few
/// processes have.
const MUCH: f64 = 1_000.0;

pub(super) fn floor_rate(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
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

/// The time for which a queued retry is worth its answer, without an attempt timeout.
const PATIENCE: Span = Span::from_secs(1);

pub(super) fn fleet_budget(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
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

//! Attempts that the budget refuses to a call even when no other call fails: `attempts-never-start`.

use stagger_core::budget::{BudgetPlan, Charge};
use stagger_core::{Policy, Span};
use stagger_text::{percent, rough_count};

use super::deadline::fits;
use super::delays::retries;
use crate::figure::Chance;
use crate::granted::LoneCall;
use crate::{Code, PolicyFinding, Setting};

/// Calls of a sample: a share of 1 % is known to within a third of itself.
const CALLS: u32 = 1_000;
/// The stream of these draws.
const STREAM: u64 = 4;
/// Attempts that are looked at: a policy of more has other findings.
const ATTEMPTS: u32 = 200;
/// The share of calls below which an attempt almost never starts.
const ALMOST_NEVER: f64 = 0.01;
/// The most retries of an interval.
const MOST_IN_INTERVAL: u32 = 16;

/// The finding, where the budget and not the deadline ends calls early.
pub(super) fn refused(policy: &Policy, setting: &Setting) -> Option<PolicyFinding> {
    let shares = shares(policy, setting);
    let (first, share) = (2..).zip(shares).find_map(|(attempt, (in_time, granted))| {
        (in_time >= ALMOST_NEVER && granted < ALMOST_NEVER).then_some((attempt, granted))
    })?;
    let last = policy.limits().max_attempts();
    // Without a limit no attempt is promised but the first retry.
    if last.is_none() && first > 2 {
        return None;
    }
    let numbers = match last {
        Some(last) if last == first => format!("attempt {first}"),
        Some(last) => format!("attempts {first} to {last}"),
        None => format!("attempts from {first} on"),
    };
    let ending = if share == 0.0 {
        "can never start".to_owned()
    } else {
        format!("almost never start, for {} of calls,", percent(share))
    };
    let (key, grants, wider) = budget(policy, setting, last.map_or(1, |last| last - 1))?;
    let fewer = match first {
        2 => "max_attempts = 1 to promise no retry".to_owned(),
        _ => format!("max_attempts = {}", first - 1),
    };
    let fix = wider.map_or_else(|| fewer.clone(), |wider| format!("{wider}, or {fewer}"));
    let message =
        format!("{numbers} {ending} even when no other call fails: the budget grants {grants}");
    Some(PolicyFinding::warning(Code::AttemptsNeverStart, key, message, fix))
}

/// The key of the budget's size, what it grants, and a size that grants so many retries.
fn budget(
    policy: &Policy,
    setting: &Setting,
    wanted: u32,
) -> Option<(&'static str, String, Option<String>)> {
    Some(match policy.budget() {
        BudgetPlan::Interval(plan) => {
            let (held, interval) = (u32::from(plan.retries()), plan.interval());
            let retries = wanted.min(MOST_IN_INTERVAL);
            let longer = interval.saturating_mul(u64::from(retries.div_ceil(held)));
            (
                "budget.interval.retries",
                format!("{held} in any {interval}"),
                (retries > held)
                    .then(|| format!("retries = {retries} with interval = \"{longer}\"")),
            )
        }
        BudgetPlan::Window(plan) => {
            let window = plan.window();
            let rate = setting
                .rps
                .map_or_else(String::new, |rps| format!(" of {} calls a second", rough_count(rps)));
            (
                "budget.window.burst",
                format!("{} in {window}{rate}, and its floor", percent(plan.ratio().as_f64())),
                Some(format!("burst = {wanted}")),
            )
        }
        BudgetPlan::Tokens(plan) => {
            let cost = plan.cost(Charge::Retry);
            (
                "budget.tokens.capacity",
                format!("{} retries from a full bucket", plan.capacity() / cost),
                Some(format!("capacity = {}", cost.saturating_mul(wanted))),
            )
        }
        BudgetPlan::Throttle(plan) => {
            let tokens = plan.max_tokens();
            (
                "budget.throttle.max_tokens",
                format!("{} while no call succeeds", tokens.div_ceil(2) - 1),
                Some(2 * wanted.min(1_000) + 1)
                    .filter(|enough| *enough <= 1_000)
                    .map(|enough| format!("max_tokens = {enough}")),
            )
        }
        _ => return None,
    })
}

/// The shares of calls that the deadline lets start each attempt from the second on, without and
/// with the budget.
fn shares(policy: &Policy, setting: &Setting) -> Vec<(f64, f64)> {
    let rows = retries(policy, ATTEMPTS) as usize;
    let mut started = vec![(0_u32, 0_u32); rows];
    let mut chance = Chance::new(STREAM);
    let mut budget = LoneCall::new(policy.budget(), setting.rps);
    for _ in 0..CALLS {
        let rule = policy.backoff();
        let (mut elapsed, mut prev, mut granted) = (Span::ZERO, rule.base(), true);
        budget.restart();
        for (k, started) in (1..).zip(&mut started) {
            prev = rule.delay(k, prev, &mut chance);
            // The budget is asked when an attempt has failed, before its delay.
            let before = elapsed;
            elapsed = elapsed + prev;
            if !fits(policy, elapsed) {
                break;
            }
            granted = granted && budget.ask(before, Charge::Retry);
            started.0 += 1;
            started.1 += u32::from(granted);
        }
    }
    let share = |calls: u32| f64::from(calls) / f64::from(CALLS);
    started.into_iter().map(|(in_time, granted)| (share(in_time), share(granted))).collect()
}

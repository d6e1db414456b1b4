//! Attempts that do harm: too many of them, retries that nobody is safe from, and copies of slow calls.

use stagger_core::budget::BudgetPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::{Policy, Span};

use super::deadline::fits;
use super::delays::{retries, retrying};
use crate::{Code, PolicyFinding, Setting};

/// The most attempts that a preset makes, in an hour, without anybody waiting for it.
const MOST: u32 = 20;

/// The number at which counting ends.
const COUNTED: u32 = 1_000;

pub(super) fn too_many_attempts(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    let attempts = usual(policy);
    if attempts <= MOST {
        return;
    }
    let shown =
        if attempts > COUNTED { format!("more than {COUNTED}") } else { attempts.to_string() };
    found.push(PolicyFinding::warning(
        Code::TooManyAttempts,
        "limits.max_attempts",
        format!(
            "a call whose attempts fail at once makes {shown} attempts: what fails that often will \
             not heal by being sent again, and the load on the destination grows with it"
        ),
        format!("max_attempts = {MOST} at most, or a longer base and cap for as many attempts in less load"),
    ));
}

/// The attempts of a call with mean delays, up to one more than are counted.
fn usual(policy: &Policy) -> u32 {
    let rule = policy.backoff();
    let mut elapsed = Span::ZERO;
    let retries = retries(policy, COUNTED);
    for k in 1..=retries {
        let (lo, hi) = rule.range(k);
        elapsed = elapsed + lo + Span::from_nanos((hi - lo).as_nanos() / 2);
        if !fits(policy, elapsed) {
            return k;
        }
    }
    retries + 1
}

pub(super) fn not_idempotent(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    if setting.idempotent != Some(false) || !retrying(policy) {
        return;
    }
    let often = policy.limits().max_attempts().map_or_else(
        || "any number of times".to_owned(),
        |attempts| {
            if attempts == 2 { "twice".to_owned() } else { format!("up to {attempts} times") }
        },
    );
    let (key, how) = match policy.hedge() {
        Some(_) => ("hedge.copies", "sent again while the first is under way"),
        None => ("limits.max_attempts", "sent again after a failure that may have been a success"),
    };
    found.push(PolicyFinding::error(
        Code::NotIdempotent,
        key,
        format!("the calls may not be repeated, and are {how}: one may act {often}"),
        "max_attempts = 1, or give the calls an idempotency key",
    ));
}

pub(super) fn nested_layers(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(layers) = setting.layers.filter(|layers| *layers > 1) else { return };
    let attempts = policy.limits().max_attempts();
    if attempts == Some(1) {
        return;
    }
    let figure = match attempts {
        Some(attempts) => {
            let lowest = u64::from(attempts).checked_pow(layers);
            let lowest = lowest.map_or_else(|| "more than 10^19".to_owned(), |n| n.to_string());
            format!("{attempts} attempts in each of {layers} layers are {lowest} at the lowest")
        }
        None => format!("{layers} layers multiply attempts that nothing but time bounds"),
    };
    let (key, fix) = (
        "limits.max_attempts",
        "max_attempts = 1 in all layers but one: the one that knows whether the call is still wanted",
    );
    let open = *policy.budget() == BudgetPlan::Unlimited;
    found.push(if open {
        let message = format!("{figure}, and no budget stops them");
        PolicyFinding::error(Code::NestedLayers, key, message, fix)
    } else {
        let message = format!("{figure}, until the budgets are empty");
        PolicyFinding::warning(Code::NestedLayers, key, message, fix)
    });
}

pub(super) fn hedged(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
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

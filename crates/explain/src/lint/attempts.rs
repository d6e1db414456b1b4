//! Attempts that do harm: `too-many-attempts`, `not-idempotent`, `nested-layers`.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, Span};

use super::delays::{retries, retrying};
use super::reach::fits;
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

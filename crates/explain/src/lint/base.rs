//! Retries that follow too soon: `zero-base`, `short-base`, `throttled-sooner`.

use stagger_core::{Backoff, Policy, Span};

use super::delays::{Delays, retries, retrying};
use crate::{Code, PolicyFinding, Setting};

/// A retry that follows sooner meets the failure that it follows: a packet and its answer take this
/// long within a datacentre.
const SHORTEST: Span = Span::from_micros(500);

const FIX: &str = "base = \"100ms\", or at least the time that one attempt takes";

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) {
        return;
    }
    for delays in Delays::of(policy) {
        if delays.rule.base().is_zero() {
            found.push(zero(policy, &delays));
        } else if delays.rule.base() < SHORTEST {
            found.push(short(policy, &delays));
        }
    }
}

fn zero(policy: &Policy, delays: &Delays<'_>) -> PolicyFinding {
    let retries = match retries(policy, u32::MAX) {
        1 => "its retry follows".to_owned(),
        retries => format!("its {retries} retries follow"),
    };
    PolicyFinding::error(
        Code::ZeroBase,
        delays.base,
        format!("a base of 0s makes every ceiling 0s: {retries} at once"),
        FIX,
    )
}

fn short(policy: &Policy, delays: &Delays<'_>) -> PolicyFinding {
    let soon =
        (1..=retries(policy, u32::MAX).min(64)).take_while(|k| delays.rule.range(*k).1 < SHORTEST);
    let soon = soon.count().max(1);
    PolicyFinding::warning(
        Code::ShortBase,
        delays.base,
        format!(
            "a base of {}: the first {} within less than {SHORTEST} each, before a failure can pass",
            delays.rule.base(),
            if soon == 1 { "retry follows".to_owned() } else { format!("{soon} retries follow") },
        ),
        FIX,
    )
}

/// Retries that are added up: the delays of those beyond are at their caps.
const COUNTED: u32 = 100;

pub(super) fn throttled_sooner(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    let retries = retries(policy, COUNTED);
    let (failed, throttled) =
        (total(policy.backoff(), retries), total(policy.throttled_backoff(), retries));
    if throttled >= failed {
        return;
    }
    let base = policy.backoff().base();
    found.push(PolicyFinding::warning(
        Code::ThrottledSooner,
        "throttled_backoff.base",
        format!(
            "a throttled call waits {throttled} in all, a failed one {failed}: the server that asks \
             for less load gets more"
        ),
        format!("base = \"{}\" and a cap above it, or no [throttled_backoff]", base.max(Span::from_secs(1))),
    ));
}

/// The middle delays of so many retries together.
fn total(rule: &Backoff, retries: u32) -> Span {
    (1..=retries).fold(Span::ZERO, |sum, k| {
        let (shortest, longest) = rule.range(k);
        sum + shortest + Span::from_nanos((longest - shortest).as_nanos() / 2)
    })
}

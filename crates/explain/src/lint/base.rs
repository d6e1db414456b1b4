//! Retries that follow too soon: `zero-base`, `short-base`.

use stagger_core::{Policy, Span};

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

//! `throttled-sooner`: a server that asks for less load is called again sooner than one that failed.

use stagger_core::{Backoff, Policy, Span};

use super::delays::retries;
use crate::{Code, PolicyFinding, Setting};

/// Retries that are added up: the delays of those beyond are at their caps.
const COUNTED: u32 = 100;

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
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

//! `too-many-attempts`: more than help.

use stagger_core::{Policy, Span};

use super::delays::retries;
use super::reach::fits;
use crate::{Code, PolicyFinding, Setting};

/// The most attempts that a preset makes, in an hour, without anybody waiting for it.
const MOST: u32 = 20;
/// The number at which counting ends.
const COUNTED: u32 = 1_000;

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
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

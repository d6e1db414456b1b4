//! The attempts that a call makes before its deadline, when its attempts fail at once.

use stagger_core::{Backoff, Policy, Span};

use super::delays::retries;
use crate::chance::Chance;

/// Calls of a sample: a share of 1 % is known to within a tenth of itself.
const CALLS: u32 = 10_000;
/// The stream of these draws.
const STREAM: u64 = 3;
/// Attempts that are looked at: a policy of more has other troubles.
const ATTEMPTS: u32 = 200;

/// Whether an attempt may start so long after its call.
pub(super) fn fits(policy: &Policy, elapsed: Span) -> bool {
    let limits = policy.limits();
    limits.deadline().is_none_or(|limit| {
        elapsed < limit && elapsed.saturating_add(limits.min_attempt_time()) <= limit
    })
}

/// The first attempt that never starts, even after the shortest delays, and when it would.
pub(super) fn never(policy: &Policy) -> Option<(u32, Span)> {
    let shortest = |k| policy.backoff().range(k).0.min(policy.throttled_backoff().range(k).0);
    let mut elapsed = Span::ZERO;
    for k in 1..=retries(policy, ATTEMPTS) {
        elapsed = elapsed + shortest(k);
        if !fits(policy, elapsed) {
            return Some((k + 1, elapsed));
        }
    }
    None
}

/// The share of calls that start each attempt from the second on.
pub(super) fn shares(policy: &Policy) -> Vec<f64> {
    let rows = retries(policy, ATTEMPTS);
    let mut started = vec![0_u32; rows as usize];
    let mut chance = Chance::new(STREAM);
    for _ in 0..CALLS {
        let rule: &Backoff = policy.backoff();
        let (mut elapsed, mut prev) = (Span::ZERO, rule.base());
        for (k, started) in (1..).zip(&mut started) {
            prev = rule.delay(k, prev, &mut chance);
            elapsed = elapsed + prev;
            if !fits(policy, elapsed) {
                break;
            }
            *started += 1;
        }
    }
    started.into_iter().map(|calls| f64::from(calls) / f64::from(CALLS)).collect()
}

//! The delay rules of a policy, with the keys that they are written under.

use stagger_core::{Backoff, Policy, Span};

/// A delay rule and its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays<'p> {
    pub(super) rule: &'p Backoff,
    pub(super) base: &'static str,
    pub(super) jitter: &'static str,
}

impl<'p> Delays<'p> {
    /// The general rule, and the one after throttled verdicts where it is another one.
    pub(super) fn of(policy: &'p Policy) -> impl Iterator<Item = Self> {
        let general =
            Self { rule: policy.backoff(), base: "backoff.base", jitter: "backoff.jitter" };
        let throttled = Self {
            rule: policy.throttled_backoff(),
            base: "throttled_backoff.base",
            jitter: "throttled_backoff.jitter",
        };
        let own = throttled.rule != general.rule;
        core::iter::once(general).chain(own.then_some(throttled))
    }
}

/// The retries of a call, or `most` when there are more or nothing bounds them.
pub(super) fn retries(policy: &Policy, most: u32) -> u32 {
    policy.limits().max_attempts().map_or(most, |attempts| (attempts - 1).min(most))
}

/// Whether a failed attempt can be followed by another one at all.
pub(super) fn retrying(policy: &Policy) -> bool {
    retries(policy, 1) > 0
}

/// The longest ceiling that a call can come to: no longer than its deadline. Symmetric jitter goes
/// above a ceiling, and that is a finding of its own.
pub(super) fn longest_ceiling(policy: &Policy) -> Span {
    // The ranges grow with the retry number, so the last one is the longest.
    let last = retries(policy, u32::MAX);
    if last == 0 {
        return Span::ZERO;
    }
    let ceiling = |rule: &Backoff| rule.range(last).1.min(rule.cap());
    let reached = Delays::of(policy).map(|delays| ceiling(delays.rule)).max();
    let reached = reached.unwrap_or(Span::ZERO);
    policy.limits().deadline().map_or(reached, |deadline| reached.min(deadline))
}

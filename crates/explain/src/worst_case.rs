//! The worst case of a policy: the load of its retries while attempts fail, and the duration of a call when everything goes wrong.

use stagger_core::adaptive::AdaptivePlan;
use stagger_core::concurrency::ConcurrencyPlan;
use stagger_core::rate_limit::RatePlan;
use stagger_core::{HintRule, LongHint, Policy, Span};

use crate::budgeted::{Demand, retries};
use crate::calls::PlayedCalls;
use crate::delay::MAX_ROWS;
use crate::timeline::latest_start;
use crate::{LoadFactor, Setting};

/// The load while 10, 50 and 100 % of attempts fail.
pub(crate) fn load(policy: &Policy, setting: &Setting, calls: &PlayedCalls) -> [LoadFactor; 3] {
    [10, 50, 100].map(|failing_percent| {
        let failing = f64::from(failing_percent) / 100.0;
        let demand = Demand { failing, calls, retries: wanted(failing, calls) };
        let (granted, method) = retries(policy.budget(), setting.rps, &demand);
        LoadFactor {
            failing_percent,
            without_budget: 1.0 + demand.retries,
            with_budget: 1.0 + granted,
            method,
        }
    })
}

/// Retries for each call that nothing refuses: the sum of `q^i`, as far as the deadline lets calls
/// come. Beyond the rows that are counted, half to a power above 60 is nothing.
fn wanted(failing: f64, calls: &PlayedCalls) -> f64 {
    if failing >= 1.0 {
        return calls.attempts() - 1.0;
    }
    let mut power = 1.0;
    let mut sum = 0.0;
    for attempt in 2..=MAX_ROWS {
        power *= failing;
        sum += power * calls.reached(attempt);
    }
    sum
}

/// Attempts at the lowest of `layers` for each call at the top when all attempts fail: each layer
/// multiplies, unless the nested guard keeps the inner ones to a single attempt.
pub(crate) fn amplification(policy: &Policy, layers: u32, calls: &PlayedCalls) -> (u64, u64) {
    // Where only the deadline ends a call, as many as it makes in the mean, and none of them twice.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count above 0")]
    let counted = calls.attempts().round() as u64;
    let attempts = match policy.limits().max_attempts() {
        Some(attempts) if policy.limits().deadline().is_none() => u64::from(attempts),
        _ => counted,
    };
    (attempts.saturating_pow(layers), attempts)
}

/// Retries that are added up one by one. Those beyond count as the last one does, which is exact
/// where the cap is reached, and never too little.
const ONE_BY_ONE: u32 = 100_000;

/// The longest that a call may take, waits and attempts together; `None` when nothing bounds it.
///
/// Hints are not counted. A call that waits for its breaker is bounded by its deadline only.
#[must_use]
pub(crate) fn worst_case(policy: &Policy) -> Option<Span> {
    total(policy, |own| own)
}

/// The longest that a call may wait in all, attempts not counted.
#[must_use]
pub(crate) fn worst_waits(policy: &Policy) -> Span {
    waits(policy, |own| own)
}

/// The worst case when the server asks for the longest wait that is obeyed before each retry.
pub(crate) fn worst_case_hinted(policy: &Policy) -> Option<Span> {
    total(policy, |own| hinted(policy.hints(), own))
}

/// The longest delay of this rule, own delay and hint together.
fn hinted(rule: &HintRule, own: Span) -> Span {
    let hint = match rule.long() {
        LongHint::OwnDelayPlus(_) => Span::MAX,
        _ => rule.max(),
    };
    rule.delay(own, hint, &mut || u64::MAX)
}

fn total(policy: &Policy, wait: impl Fn(Span) -> Span) -> Option<Span> {
    let limits = policy.limits();
    let waits_for_breaker = policy.waits_for_breaker() && policy.breaker().is_some();
    let waits_in_turn = policy.adaptive() == Some(&AdaptivePlan::Cubic);
    let bounds = limits.max_attempts().zip(limits.attempt_timeout());
    match bounds.filter(|_| !waits_for_breaker && !waits_in_turn) {
        Some((attempts, each)) => {
            let each = each + longest_turn(policy);
            let sum = each.saturating_mul(u64::from(attempts)) + waits(policy, wait);
            Some(limits.deadline().map_or(sum, |deadline| sum.min(deadline)))
        }
        None => limits.deadline(),
    }
}

/// The longest wait of an attempt for its start by the rate limit, and for its place.
fn longest_turn(policy: &Policy) -> Span {
    let start = policy.rate_limit().map_or(Span::ZERO, RatePlan::max_wait);
    let place = policy.concurrency_limit().map_or(Span::ZERO, ConcurrencyPlan::max_wait);
    start + place
}

fn waits(policy: &Policy, wait: impl Fn(Span) -> Span) -> Span {
    let latest = latest_start(policy).unwrap_or(Span::MAX);
    let Some(attempts) = policy.limits().max_attempts() else { return latest };
    let retries = attempts.saturating_sub(1);
    let longest = |k| {
        let (plain, throttled) = (policy.backoff().range(k), policy.throttled_backoff().range(k));
        wait(plain.1.max(throttled.1))
    };
    let mut sum = Span::ZERO;
    for k in 1..=retries.min(ONE_BY_ONE) {
        sum = sum + longest(k);
        if sum >= latest {
            return latest;
        }
    }
    let beyond = u64::from(retries.saturating_sub(ONE_BY_ONE));
    (sum + longest(retries.max(1)).saturating_mul(beyond)).min(latest)
}

#[cfg(test)]
mod tests {
    use stagger_core::{Backoff, ConfigError};

    use super::*;

    #[test]
    fn waits_and_attempts_add_up_and_an_attempt_without_a_timeout_has_no_worst_case() {
        // Two waits of 100 and 200 ms, and three attempts of a second.
        let policy = Policy::builder().attempt_timeout(Span::from_secs(1)).build();
        assert_eq!(worst_case(&policy.expect("in bounds")), Some(Span::from_millis(3_300)));
        assert_eq!(worst_case(&Policy::default()), None, "an attempt may hang for ever");
        assert_eq!(worst_waits(&Policy::default()), Span::from_millis(100 + 200));
    }

    #[test]
    fn the_deadline_bounds_what_the_attempts_would_add_up_to() -> Result<(), ConfigError> {
        assert_eq!(worst_case(&Policy::google_cloud()), Some(Span::from_secs(120)));
        assert_eq!(worst_case(&Policy::webhook()), Some(Span::from_secs(270_455 + 300)));
        assert_eq!(worst_case(&Policy::grpc()), None);
        assert_eq!(worst_waits(&Policy::grpc()), Span::from_millis(840));
        Ok(())
    }

    #[test]
    fn a_throttled_call_waits_by_the_longer_of_both_rules() -> Result<(), ConfigError> {
        assert_eq!(worst_waits(&Policy::aws_standard_2_1()), Span::from_secs(1 + 2));
        Ok(())
    }

    #[test]
    fn a_hint_lengthens_every_wait() -> Result<(), ConfigError> {
        let policy = Policy::builder().attempt_timeout(Span::from_secs(1)).build()?;
        assert_eq!(worst_case_hinted(&policy), Some(Span::from_secs(3 + 2 * 90)));
        let aws = Policy::aws_standard_2_0().to_builder().attempt_timeout(Span::from_secs(1));
        let longest = Span::from_secs(3 + (1 + 5) + (2 + 5));
        assert_eq!(worst_case_hinted(&aws.build()?), Some(longest));
        Ok(())
    }

    #[test]
    fn more_attempts_than_anyone_counts_take_no_time_to_add_up() -> Result<(), ConfigError> {
        let rule = Backoff::exponential(Span::from_secs(1), Span::from_secs(1))?;
        let policy = Policy::builder().backoff(rule).max_attempts(u32::MAX).build()?;
        assert_eq!(worst_waits(&policy), Span::from_secs(u64::from(u32::MAX) - 1));
        Ok(())
    }
}

//! The load of retries: attempts for each call while a share of the attempts fails, and amplification by layers.

use stagger_core::Policy;

use crate::budgeted::{Demand, retries};
use crate::calls::{MAX_ROWS, PlayedCalls};
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

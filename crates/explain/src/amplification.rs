//! Amplification by layers of retries.

use stagger_core::Policy;

use crate::calls::PlayedCalls;

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

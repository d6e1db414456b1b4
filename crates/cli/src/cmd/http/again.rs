//! The rest of a call whose body broke off: attempts, time, and the delay before the next one.

use stagger::OsEntropy;
use stagger_core::{Policy, Span};

/// Attempts that were made, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    pub(super) attempts: u32,
    pub(super) elapsed: Span,
}

impl Past {
    /// The policy for what is left; none when attempts or time are used up.
    pub(super) fn left_of(self, policy: &Policy) -> Option<Policy> {
        let limits = policy.limits();
        let mut builder = policy.to_builder();
        if let Some(most) = limits.max_attempts() {
            builder =
                builder.max_attempts(most.checked_sub(self.attempts).filter(|left| *left > 0)?);
        }
        if let Some(deadline) = limits.deadline() {
            builder = builder.deadline(deadline - self.elapsed);
        }
        // A deadline that leaves no time for an attempt is refused.
        builder.build().ok()
    }

    /// The delay before the next attempt.
    pub(super) fn delay(self, policy: &Policy) -> Span {
        let rule = policy.backoff();
        rule.delay(self.attempts.max(1), rule.base(), &mut OsEntropy)
    }
}

//! The policy: from a file, a preset or the default, with the flags on top; and the rest of it after some
//! attempts.

use stagger::OsEntropy;
use stagger_core::budget::BudgetPlan;
use stagger_core::{ConfigError, Policy, PolicyBuilder, Span};

use crate::command_error::CommandError;
use crate::flags::HttpPolicyFlags;
use crate::policy_file::{Loaded, Overrides};

/// The policy that the flags ask for.
///
/// # Errors
/// A file that is wrong, an unknown name, several policies where one is wanted, settings
/// that the engine refuses.
pub(super) fn policy(flags: &HttpPolicyFlags) -> Result<Policy, CommandError> {
    let given = Loaded::one(flags.policy.as_ref(), flags.preset.as_deref(), false)?;
    let policy = given.unwrap_or_default();
    let mut builder = policy.to_builder();
    if given.is_none() {
        // A budget guards a destination against many calls. This process makes one, whose attempts
        // are limited; with the default budget a call of fifty attempts would end at the tenth.
        builder = builder.budget(BudgetPlan::Unlimited);
    }
    let HttpPolicyFlags { base, cap, jitter, .. } = *flags;
    let rule = policy.backoff();
    let changed = Overrides { base, cap, jitter, factor: None }.on(rule, rule.cap());
    let changed = changed.map(|rule| builder.backoff(rule));
    changed.and_then(|builder| limits(flags, builder).build()).map_err(|error| refused(&error))
}

fn limits(flags: &HttpPolicyFlags, mut builder: PolicyBuilder) -> PolicyBuilder {
    if let Some(most) = flags.attempts {
        builder = builder.max_attempts(most);
    }
    if let Some(limit) = flags.attempt_timeout {
        builder = builder.attempt_timeout(limit);
    }
    if let Some(limit) = flags.max_time {
        builder = builder.deadline(limit);
    }
    builder
}

/// The engine's refusal, with its fields called by their flags.
fn refused(error: &ConfigError) -> CommandError {
    let named = |text: &str| {
        text.replace("limits.max_attempts", "--attempts")
            .replace("limits.attempt_timeout", "--attempt-timeout")
            .replace("limits.deadline", "--max-time")
            .replace("backoff.", "--")
    };
    CommandError::of_setting(error, named)
}

/// Attempts that were made, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AttemptsMade {
    pub(super) attempts: u32,
    pub(super) elapsed: Span,
}

impl AttemptsMade {
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

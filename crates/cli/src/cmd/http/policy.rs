//! The policy: from a file, a preset or the default, with the flags on top.

use stagger_core::budget::BudgetPlan;
use stagger_core::{ConfigError, Policy, PolicyBuilder};

use crate::flags::HttpPolicyFlags;
use crate::policy_file::{Loaded, Overrides};
use crate::refusal::Refusal;

/// The policy that the flags ask for.
///
/// # Errors
/// A file that is wrong, a name that nobody knows, several policies where one is wanted, settings
/// that the engine refuses.
pub(super) fn policy(flags: &HttpPolicyFlags) -> Result<Policy, Refusal> {
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
fn refused(error: &ConfigError) -> Refusal {
    let named = |text: &str| {
        text.replace("limits.max_attempts", "--attempts")
            .replace("limits.attempt_timeout", "--attempt-timeout")
            .replace("limits.deadline", "--max-time")
            .replace("backoff.", "--")
    };
    Refusal::of_setting(error, named)
}

//! The policy: from a file, a preset or the default, with the flags on top.

use stagger_core::budget::BudgetPlan;
use stagger_core::{ConfigError, Policy, PolicyBuilder};

use crate::command_error::CommandError;
use crate::flags::{Attempts, ExecPolicyFlags};
use crate::policy_file::{Loaded, Overrides, PolicyArgument};

/// The policy that the flags ask for. `shared` says whether a budget file is there.
///
/// # Errors
/// A file that is wrong, an unknown name, settings that the engine refuses.
pub(super) fn policy(flags: &ExecPolicyFlags, shared: bool) -> Result<Policy, CommandError> {
    let given = source(flags, shared)?;
    let mut builder = given.unwrap_or_default().to_builder();
    if given.is_none() && !shared {
        // A budget guards a destination against many calls. This process makes one, whose attempts
        // are limited; with the default budget a call of fifty attempts would end at the tenth.
        builder = builder.budget(BudgetPlan::Unlimited);
    }
    let policy = given.unwrap_or_default();
    let rule = *policy.backoff();
    // The default cap is no reason to refuse a base that a flag sets.
    let least = flags.base.filter(|_| given.is_none()).unwrap_or(rule.cap());
    let ExecPolicyFlags { base, cap, factor, jitter, .. } = *flags;
    let rule = Overrides { base, cap, factor, jitter }.on(&rule, rule.cap().max(least));
    limits(flags, rule.map(|rule| builder.backoff(rule)))
        .and_then(PolicyBuilder::build)
        .map_err(|error| refused(&error))
}

/// The policy of the file or the preset, if one is named.
fn source(flags: &ExecPolicyFlags, shared: bool) -> Result<Option<Policy>, CommandError> {
    let file = flags.policy.as_ref();
    // Standard input is the command's.
    if file.is_some_and(PolicyArgument::is_stdin) {
        return Err(CommandError::bad_value("invalid value '-' for '--policy': must be a file"));
    }
    Loaded::one(file, flags.preset.as_deref(), shared)
}

/// The same policy without what is done here: an attempt's own time limit, because the whole group
/// must be gone before the engine hears of it, and without copies, which commands have none of.
pub(super) fn for_engine(policy: &Policy, single: bool) -> Policy {
    let limits = policy.limits();
    let mut builder = Policy::builder()
        .backoff(*policy.backoff())
        .min_attempt_time(limits.min_attempt_time())
        .budget(*policy.budget())
        .wait_for_breaker(policy.waits_for_breaker())
        .pause_when_empty(policy.pauses_when_empty());
    builder = match limits.max_attempts() {
        _ if single => builder.max_attempts(1),
        Some(most) => builder.max_attempts(most),
        None => builder.unlimited_attempts(),
    };
    if let Some(deadline) = limits.deadline() {
        builder = builder.deadline(deadline);
    }
    if let Some(breaker) = policy.breaker() {
        builder = builder.breaker(*breaker);
    }
    builder.build().expect("a policy that was valid stays so with fewer limits")
}

fn limits(
    flags: &ExecPolicyFlags,
    builder: Result<PolicyBuilder, ConfigError>,
) -> Result<PolicyBuilder, ConfigError> {
    let mut builder = builder?;
    builder = match flags.attempts {
        Some(Attempts::AtMost(most)) => builder.max_attempts(most),
        Some(Attempts::Unlimited) => builder.unlimited_attempts(),
        None => builder,
    };
    if let Some(limit) = flags.attempt_timeout {
        builder = builder.attempt_timeout(limit);
    }
    if let Some(limit) = flags.deadline {
        builder = builder.deadline(limit);
    }
    if let Some(least) = flags.min_attempt_time {
        builder = builder.min_attempt_time(least);
    }
    Ok(builder)
}

/// The engine's refusal, with its fields called by their flags.
fn refused(error: &ConfigError) -> CommandError {
    let named = |text: &str| {
        let text = text.replace("limits.max_attempts", "--attempts");
        text.replace("limits.attempt_timeout", "--attempt-timeout")
            .replace("limits.min_attempt_time", "--min-attempt-time")
            .replace("limits.", "--")
            .replace("backoff.envelope", "the policy's envelope")
            .replace("backoff.", "--")
    };
    CommandError::of_setting(error, named)
}

//! The policy of one call: from a file, a preset or the default, with the flags on top.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Jitter, Policy, PolicyBuilder};

use crate::command_error::CommandError;
use crate::flags::{Attempts, PolicyFlags};
use crate::policy_file::{Loaded, Overrides};

/// The policy that the flags ask for, to which a command adds its limits in time. `shared` says whether other
/// processes spend from the budget too.
///
/// # Errors
/// A file that is wrong, an unknown name, several policies where one is wanted, settings that the engine refuses.
pub(super) fn call_policy(
    flags: &PolicyFlags,
    shared: bool,
    limits: impl FnOnce(PolicyBuilder) -> PolicyBuilder,
) -> Result<Policy, CommandError> {
    let given = Loaded::one(flags.policy.as_ref(), flags.preset.as_deref(), shared)?;
    let policy = given.unwrap_or_default();
    let mut builder = policy.to_builder();
    if given.is_none() && !shared {
        // A budget guards a destination against many calls. This process makes one, whose attempts
        // are limited; with the default budget a call of fifty attempts would end at the tenth.
        builder = builder.budget(BudgetPlan::Unlimited);
    }
    builder = match flags.attempts {
        Some(Attempts::AtMost(most)) => builder.max_attempts(most),
        Some(Attempts::Unlimited) => builder.unlimited_attempts(),
        None => builder,
    };
    let rule = *policy.backoff();
    // The default cap is no reason to refuse a base that a flag sets.
    let least = flags.base.filter(|_| given.is_none()).unwrap_or(rule.cap());
    let PolicyFlags { base, cap, factor, jitter, .. } = *flags;
    let decorrelated = [Jitter::Decorrelated, Jitter::DecorrelatedClamped];
    if let (Some(factor), Some(law)) = (factor, jitter.filter(|law| decorrelated.contains(law))) {
        let bound = format!("left out with --jitter {law}, which grows by itself");
        return Err(CommandError::invalid("--factor", &factor.to_string(), &bound));
    }
    let rule = Overrides { base, cap, factor, jitter }.on(&rule, rule.cap().max(least));
    let changed = rule.and_then(|rule| limits(builder.backoff(rule)).build());
    changed.map_err(|error| CommandError::of_setting(&error, flag))
}

/// The engine's fields as the flags name them.
fn flag(text: &str) -> String {
    text.replace("limits.max_attempts", "--attempts")
        .replace("limits.attempt_timeout", "--attempt-timeout")
        .replace("limits.min_attempt_time", "--min-attempt-time")
        .replace("limits.", "--")
        .replace("backoff.envelope", "the policy's envelope")
        .replace("backoff.", "--")
}

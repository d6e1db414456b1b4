//! The policy: from a file, a preset or the default, with the flags on top.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, ConfigError, Envelope, Policy, PolicyBuilder};

use crate::flags::HttpPolicyFlags;
use crate::policy_file::Loaded;
use crate::refusal::Refusal;

/// The policy that the flags ask for.
///
/// # Errors
/// A file that is wrong, a name that nobody knows, several policies where one is wanted, settings
/// that the engine refuses.
pub(super) fn policy(flags: &HttpPolicyFlags) -> Result<Policy, Refusal> {
    let given = source(flags)?;
    let policy = given.unwrap_or_default();
    let mut builder = policy.to_builder();
    if given.is_none() {
        // A budget guards a destination against many calls. This process makes one, whose attempts
        // are limited; with the default budget a call of fifty attempts would end at the tenth.
        builder = builder.budget(BudgetPlan::Unlimited);
    }
    let changed = backoff(flags, policy.backoff()).map(|rule| match rule {
        Some(rule) => builder.backoff(rule),
        None => builder,
    });
    changed.and_then(|builder| limits(flags, builder).build()).map_err(|error| refused(&error))
}

fn source(flags: &HttpPolicyFlags) -> Result<Option<Policy>, Refusal> {
    let loaded = match (&flags.policy, &flags.preset) {
        (Some(asked), _) => Loaded::open(asked)?,
        (None, Some(name)) => Loaded::preset(name)?,
        (None, None) => return Ok(None),
    };
    match loaded.policies.as_slice() {
        [only] => Ok(Some(only.policy)),
        several => {
            let names: Vec<&str> = several.iter().map(|entry| entry.name.as_str()).collect();
            let file = loaded.file;
            Err(Refusal::bad_value(&format!(
                "invalid value '{file}' for '--policy': must name one of its policies, as in \
                 {file}#{}: there are {}",
                names.first().unwrap_or(&"NAME"),
                names.join(", "),
            )))
        }
    }
}

/// The backoff with the flags on top, if there are any.
fn backoff(flags: &HttpPolicyFlags, rule: &Backoff) -> Result<Option<Backoff>, ConfigError> {
    if flags.base.is_none() && flags.cap.is_none() && flags.jitter.is_none() {
        return Ok(None);
    }
    let base = flags.base.unwrap_or(rule.base());
    let changed = match (rule.envelope(), flags.cap) {
        // A constant envelope's cap is its base, and follows it.
        (Envelope::Constant, None) => Backoff::constant(base),
        (envelope, cap) => Backoff::new(envelope, base, cap.unwrap_or(rule.cap()))?,
    };
    changed.with_jitter(flags.jitter.unwrap_or(rule.jitter())).map(Some)
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
    let (flag, value, bound) = (named(error.field()), error.value(), named(error.bound()));
    Refusal::bad_value(&format!("invalid value '{value}' for '{flag}': must be {bound}"))
}

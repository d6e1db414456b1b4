//! `[limits]`: attempts, deadline, time per attempt.

use serde::{Deserialize, Serialize};

use super::attempts::AttemptsText;
use super::convert::{count, written_as};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::policy::{Policy, PolicyBuilder};
use crate::time::Span;

written_as!(
    Limits,
    LimitsText,
    "the table of the limits: max_attempts, deadline, attempt_timeout, min_attempt_time"
);

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LimitsText {
    max_attempts: AttemptsText,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt_timeout: Option<Span>,
    #[serde(skip_serializing_if = "is_zero")]
    min_attempt_time: Span,
}

impl LimitsText {
    /// Hands the limits to a builder, which checks them.
    pub(super) fn set(&self, builder: PolicyBuilder) -> Result<PolicyBuilder, ConfigError> {
        let mut builder = builder.min_attempt_time(self.min_attempt_time);
        builder = match self.max_attempts {
            AttemptsText::Limited(n) => builder.max_attempts(count("limits.max_attempts", n)?),
            AttemptsText::Unlimited => builder.unlimited_attempts(),
        };
        if let Some(deadline) = self.deadline {
            builder = builder.deadline(deadline);
        }
        if let Some(limit) = self.attempt_timeout {
            builder = builder.attempt_timeout(limit);
        }
        Ok(builder)
    }
}

impl Default for LimitsText {
    fn default() -> Self {
        Limits::DEFAULT.into()
    }
}

impl From<Limits> for LimitsText {
    fn from(limits: Limits) -> Self {
        let limited = |calls| AttemptsText::Limited(i64::from(calls));
        Self {
            max_attempts: limits.max_attempts().map_or(AttemptsText::Unlimited, limited),
            deadline: limits.deadline(),
            attempt_timeout: limits.attempt_timeout(),
            min_attempt_time: limits.min_attempt_time(),
        }
    }
}

impl TryFrom<LimitsText> for Limits {
    type Error = ConfigError;

    fn try_from(text: LimitsText) -> Result<Self, ConfigError> {
        Ok(*text.set(Policy::builder())?.build()?.limits())
    }
}

/// serde hands over a reference, [`Span::is_zero`] takes a value.
const fn is_zero(span: &Span) -> bool {
    span.is_zero()
}

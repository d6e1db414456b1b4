//! `[limits]`: attempts (a number, or `"unlimited"`), deadline, time per attempt.

use core::fmt;

use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

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

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

#[derive(Clone, Copy)]
pub(super) enum AttemptsText {
    Limited(i64),
    Unlimited,
}

impl Serialize for AttemptsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Limited(calls) => serializer.serialize_i64(*calls),
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for AttemptsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AttemptsVisitor)
    }
}

struct AttemptsVisitor;

impl Visitor<'_> for AttemptsVisitor {
    type Value = AttemptsText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of calls, or {UNLIMITED:?}")
    }

    fn visit_i64<E: Error>(self, calls: i64) -> Result<AttemptsText, E> {
        Ok(AttemptsText::Limited(calls))
    }

    fn visit_u64<E: Error>(self, calls: u64) -> Result<AttemptsText, E> {
        // OK because what is cut off is beyond every limit, and refused as such.
        Ok(AttemptsText::Limited(i64::try_from(calls).unwrap_or(i64::MAX)))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<AttemptsText, E> {
        if word == UNLIMITED {
            return Ok(AttemptsText::Unlimited);
        }
        Err(E::invalid_value(Unexpected::Str(word), &self))
    }
}

//! `[backoff]` and `[throttled_backoff]`: envelope, base, cap, jitter.

use serde::{Deserialize, Deserializer, Serialize};

use super::convert::{RenamedKey, renamed, share, written_as};
use crate::backoff::{Backoff, Envelope};
use crate::error::ConfigError;
use crate::factor::Factor;
use crate::jitter::Jitter;
use crate::time::Span;

written_as!(Backoff, BackoffText, "the table of a delay rule: envelope, factor, base, cap, jitter");

/// The names of a second delay rule.
const THROTTLED: [RenamedKey; 5] = [
    ("backoff.envelope", "throttled_backoff.envelope"),
    ("backoff.factor", "throttled_backoff.factor"),
    ("backoff.base", "throttled_backoff.base"),
    ("backoff.cap", "throttled_backoff.cap"),
    ("backoff.jitter", "throttled_backoff.jitter"),
];

/// Reads the second delay rule, whose refusals have its own keys.
pub(super) fn throttled<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Backoff>, D::Error> {
    let Some(text) = Option::<BackoffText>::deserialize(deserializer)? else { return Ok(None) };
    let rule = Backoff::try_from(text).map_err(|error| renamed(&error, &THROTTLED));
    rule.map(Some).map_err(serde::de::Error::custom)
}

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BackoffText {
    envelope: EnvelopeText,
    /// For the exponential envelope only; written unless it is 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    base: Span,
    /// Missing: 10 s, or the base where the envelope does not grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<Span>,
    jitter: JitterText,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EnvelopeText {
    Constant,
    Linear,
    Exponential,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum JitterText {
    None,
    Full,
    Equal,
    Decorrelated,
    DecorrelatedClamped,
    Proportional(f64),
    Symmetric(f64),
}

impl Default for BackoffText {
    fn default() -> Self {
        let rule = Backoff::default();
        Self { cap: None, ..rule.into() }
    }
}

impl From<Backoff> for BackoffText {
    fn from(rule: Backoff) -> Self {
        let (envelope, factor) = match rule.envelope() {
            Envelope::Constant => (EnvelopeText::Constant, None),
            Envelope::Linear => (EnvelopeText::Linear, None),
            Envelope::Exponential(Factor::TWO) => (EnvelopeText::Exponential, None),
            Envelope::Exponential(other) => (EnvelopeText::Exponential, Some(other.as_f64())),
        };
        let flat = rule.envelope() == Envelope::Constant && rule.cap() == rule.base();
        let cap = (!flat).then(|| rule.cap());
        Self { envelope, factor, base: rule.base(), cap, jitter: rule.jitter().into() }
    }
}

impl TryFrom<BackoffText> for Backoff {
    type Error = ConfigError;

    fn try_from(text: BackoffText) -> Result<Self, ConfigError> {
        let envelope = match text.envelope {
            EnvelopeText::Constant => Envelope::Constant,
            EnvelopeText::Linear => Envelope::Linear,
            EnvelopeText::Exponential => Envelope::Exponential(Factor::TWO),
        };
        let least = match envelope {
            Envelope::Constant => text.base,
            _ => Self::default().cap(),
        };
        let rule = Self::new(envelope, text.base, text.cap.unwrap_or(least))?;
        let rule = match text.factor {
            Some(factor) => rule.with_factor(factor)?,
            None => rule,
        };
        rule.with_jitter(text.jitter.try_into()?)
    }
}

impl From<Jitter> for JitterText {
    fn from(law: Jitter) -> Self {
        match law {
            Jitter::None => Self::None,
            Jitter::Full => Self::Full,
            Jitter::Equal => Self::Equal,
            Jitter::Decorrelated => Self::Decorrelated,
            Jitter::DecorrelatedClamped => Self::DecorrelatedClamped,
            Jitter::Proportional(r) => Self::Proportional(r.as_f64()),
            Jitter::Symmetric(r) => Self::Symmetric(r.as_f64()),
        }
    }
}

impl TryFrom<JitterText> for Jitter {
    type Error = ConfigError;

    fn try_from(text: JitterText) -> Result<Self, ConfigError> {
        Ok(match text {
            JitterText::None => Self::None,
            JitterText::Full => Self::Full,
            JitterText::Equal => Self::Equal,
            JitterText::Decorrelated => Self::Decorrelated,
            JitterText::DecorrelatedClamped => Self::DecorrelatedClamped,
            JitterText::Proportional(r) => Self::Proportional(share("backoff.jitter", r)?),
            JitterText::Symmetric(r) => Self::Symmetric(share("backoff.jitter", r)?),
        })
    }
}

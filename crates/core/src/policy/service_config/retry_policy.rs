//! `retryPolicy`: attempts, exponential backoff, retryable codes.

use alloc::string::String;

use serde::Deserialize;

use super::codes::{CodeList, code_set};
use super::duration::duration;
use crate::backoff::{Backoff, Envelope};
use crate::classify::CodeSet;
use crate::error::ConfigError;
use crate::factor::Factor;
use crate::jitter::Jitter;
use crate::ratio::Ratio;
use crate::time::Span;

/// gRFC A6 as amended in 2024: a delay is its ceiling times a random number from 0.8 to 1.2.
const JITTER: Jitter = Jitter::Symmetric(Ratio::from_percent(20));

/// A method's `retryPolicy`, checked as gRFC A6 says.
///
/// `backoffMultiplier` must be at least 1 here: A6 allows any number above 0, but a backoff that
/// shrinks is none.
///
/// ```
/// use stagger_core::service_config::RetryPolicy;
/// let policy: RetryPolicy = serde_json::from_str(r#"{
///     "maxAttempts": 3, "initialBackoff": "1s", "maxBackoff": "10s", "backoffMultiplier": 1.5,
///     "retryableStatusCodes": ["unavailable", 8]
/// }"#)?;
/// assert_eq!((policy.max_attempts(), policy.codes().iter().count()), (3, 2));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RetryPolicyText")]
pub struct RetryPolicy {
    max_attempts: u32,
    backoff: Backoff,
    codes: CodeSet,
}

impl RetryPolicy {
    /// Attempts that the service allows, the first included: at least 2.
    #[must_use]
    pub const fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// The delay rule, with gRPC's jitter of 20 % up and down.
    #[must_use]
    pub const fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// The codes that are retried.
    #[must_use]
    pub const fn codes(&self) -> CodeSet {
        self.codes
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RetryPolicyText {
    max_attempts: i64,
    initial_backoff: String,
    max_backoff: String,
    backoff_multiplier: f64,
    retryable_status_codes: CodeList,
}

impl TryFrom<RetryPolicyText> for RetryPolicy {
    type Error = ConfigError;

    fn try_from(text: RetryPolicyText) -> Result<Self, ConfigError> {
        let codes = code_set("retryPolicy.retryableStatusCodes", &text.retryable_status_codes)?;
        if codes.is_empty() {
            let bound = "at least one status code";
            return Err(ConfigError::new("retryPolicy.retryableStatusCodes", "[]", bound));
        }
        Ok(Self {
            max_attempts: attempts("retryPolicy.maxAttempts", text.max_attempts)?,
            backoff: text.backoff()?,
            codes,
        })
    }
}

impl RetryPolicyText {
    fn backoff(&self) -> Result<Backoff, ConfigError> {
        let base = some_time("retryPolicy.initialBackoff", &self.initial_backoff)?;
        let cap = some_time("retryPolicy.maxBackoff", &self.max_backoff)?;
        let factor = Factor::try_from(self.backoff_multiplier)
            .map_err(|error| error.at("retryPolicy.backoffMultiplier"))?;
        // An initial backoff above the longest is legal: every delay is then the longest.
        Backoff::new(Envelope::Exponential(factor), base.min(cap), cap)?.with_jitter(JITTER)
    }
}

/// gRFC A6: `maxAttempts` is required and above 1.
pub(super) fn attempts(field: &'static str, n: i64) -> Result<u32, ConfigError> {
    let refused = || ConfigError::new(field, n, "a whole number from 2 to 4294967295");
    u32::try_from(n).ok().filter(|n| *n >= 2).ok_or_else(refused)
}

fn some_time(field: &'static str, text: &str) -> Result<Span, ConfigError> {
    let span = duration(field, text)?;
    if span.is_zero() {
        return Err(ConfigError::new(field, alloc::format!("{text:?}"), "above \"0s\""));
    }
    Ok(span)
}

//! `hedgingPolicy`: copies, the delay between them, non-fatal codes.

use alloc::string::String;

use serde::Deserialize;

use super::codes::{CodeList, code_set};
use super::duration::duration;
use super::retry_policy::attempts;
use crate::classify::CodeSet;
use crate::error::ConfigError;
use crate::hedge::HedgePlan;
use crate::time::Span;

/// The fewest copies that are hedging, for the check of the delay alone.
const FEWEST: u32 = 2;
/// The most copies that a plan takes, whatever the client's own limit: gRFC A6's limit of 5.
const MOST: u32 = 5;

/// A method's `hedgingPolicy`, checked as gRFC A6 says.
///
/// ```
/// use stagger_core::service_config::HedgingPolicy;
/// let policy: HedgingPolicy = serde_json::from_str(r#"{ "maxAttempts": 3 }"#)?;
/// assert!(policy.delay().is_zero(), "without a delay all copies go out at once");
/// assert!(policy.codes().is_empty(), "so every failure is fatal");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "HedgingPolicyText")]
pub struct HedgingPolicy {
    max_attempts: u32,
    delay: Span,
    codes: CodeSet,
}

impl HedgingPolicy {
    /// Copies that the service allows, the first call included: at least 2.
    #[must_use]
    pub const fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// The delay before the next copy of a call, at most one hour.
    #[must_use]
    pub const fn delay(&self) -> Span {
        self.delay
    }

    /// The codes after which the other copies go on.
    #[must_use]
    pub const fn codes(&self) -> CodeSet {
        self.codes
    }

    /// The plan of at most `limit` copies.
    pub(super) fn plan(&self, limit: u32) -> Result<HedgePlan, ConfigError> {
        plan(self.delay, self.max_attempts.min(limit).clamp(FEWEST, MOST))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HedgingPolicyText {
    max_attempts: i64,
    hedging_delay: Option<String>,
    #[serde(default)]
    non_fatal_status_codes: CodeList,
}

impl TryFrom<HedgingPolicyText> for HedgingPolicy {
    type Error = ConfigError;

    fn try_from(text: HedgingPolicyText) -> Result<Self, ConfigError> {
        let delay = match text.hedging_delay {
            Some(delay) => duration("hedgingPolicy.hedgingDelay", &delay)?,
            None => Span::ZERO,
        };
        plan(delay, FEWEST)?;
        Ok(Self {
            max_attempts: attempts("hedgingPolicy.maxAttempts", text.max_attempts)?,
            delay,
            codes: code_set("hedgingPolicy.nonFatalStatusCodes", &text.non_fatal_status_codes)?,
        })
    }
}

/// The only setting that a plan can refuse here is the delay.
fn plan(delay: Span, copies: u32) -> Result<HedgePlan, ConfigError> {
    HedgePlan::fixed(delay, copies).map_err(|error| error.at("hedgingPolicy.hedgingDelay"))
}

//! Ready policies that follow a vendor's published rules.

use super::{HintRule, Policy};
use crate::backoff::Backoff;
use crate::budget::TokenPlan;
use crate::error::ConfigError;
use crate::time::Span;

/// The cap of every AWS delay.
const AWS_CAP: Span = Span::from_secs(20);

impl Policy {
    /// The AWS SDKs' standard mode as it was until 2026 ("2.0"): 3 attempts, base 1 s, cap 20 s,
    /// full jitter, a bucket of 500 tokens from which a retry takes 5 and one after a timeout 10.
    ///
    /// # Errors
    /// None: the settings are constants. The type leaves room for checks to come.
    pub fn aws_standard_2_0() -> Result<Self, ConfigError> {
        Self::builder()
            .backoff(Backoff::exponential(Span::from_secs(1), AWS_CAP)?)
            .hints(HintRule::AWS)
            .budget(TokenPlan::aws_2_0())
            .build()
    }

    /// The AWS SDKs' standard mode since 2026 ("2.1"): 3 attempts, base 50 ms, or 1 s after a
    /// throttle, cap 20 s, full jitter, a bucket of 500 tokens from which a retry takes 14 and one
    /// after a throttle 5.
    ///
    /// # Errors
    /// None: the settings are constants. The type leaves room for checks to come.
    pub fn aws_standard_2_1() -> Result<Self, ConfigError> {
        Self::builder()
            .backoff(Backoff::exponential(Span::from_millis(50), AWS_CAP)?)
            .throttled_backoff(Backoff::exponential(Span::from_secs(1), AWS_CAP)?)
            .hints(HintRule::AWS)
            .budget(TokenPlan::aws_2_1())
            .build()
    }
}

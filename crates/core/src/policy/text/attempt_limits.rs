//! `[concurrency_limit]` and `[rate_limit]`: attempts in flight, and attempts a second.

use serde::{Deserialize, Serialize};

use super::convert::{count, rate, written_as};
use crate::concurrency::ConcurrencyPlan;
use crate::error::ConfigError;
use crate::rate_limit::RatePlan;
use crate::time::Span;

written_as!(
    ConcurrencyPlan,
    ConcurrencyText,
    "the table of a concurrency limit: max_concurrent, max_queued, max_wait"
);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConcurrencyText {
    max_concurrent: i64,
    #[serde(default, skip_serializing_if = "is_none")]
    max_queued: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_wait: Option<Span>,
}

/// serde hands over a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_none(count: &i64) -> bool {
    *count == 0
}

impl From<ConcurrencyPlan> for ConcurrencyText {
    fn from(plan: ConcurrencyPlan) -> Self {
        Self {
            max_concurrent: i64::from(plan.max_concurrent()),
            max_queued: i64::from(plan.max_queued()),
            max_wait: (plan.max_queued() > 0).then(|| plan.max_wait()),
        }
    }
}

impl TryFrom<ConcurrencyText> for ConcurrencyPlan {
    type Error = ConfigError;

    fn try_from(text: ConcurrencyText) -> Result<Self, ConfigError> {
        let ConcurrencyText { max_concurrent, max_queued, max_wait } = text;
        if let (0, Some(wait)) = (max_queued, max_wait) {
            let bound = "left out unless concurrency_limit.max_queued is above zero: nothing waits";
            return Err(ConfigError::new("concurrency_limit.max_wait", wait, bound));
        }
        let queued = count("concurrency_limit.max_queued", max_queued)?;
        Self::new(count("concurrency_limit.max_concurrent", max_concurrent)?)?
            .with_queue(queued, max_wait.unwrap_or(Self::DEFAULT_WAIT))
    }
}

written_as!(RatePlan, RateText, "the table of a rate limit: rate, burst, max_wait");

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateText {
    rate: f64,
    #[serde(default = "no_burst")]
    burst: i64,
    #[serde(default = "usual_wait")]
    max_wait: Span,
}

/// One attempt at a time, evenly apart.
const fn no_burst() -> i64 {
    1
}

const fn usual_wait() -> Span {
    RatePlan::DEFAULT_WAIT
}

impl From<RatePlan> for RateText {
    fn from(plan: RatePlan) -> Self {
        let (rate, burst) = (plan.rate().as_f64(), i64::from(plan.burst()));
        Self { rate, burst, max_wait: plan.max_wait() }
    }
}

impl TryFrom<RateText> for RatePlan {
    type Error = ConfigError;

    fn try_from(text: RateText) -> Result<Self, ConfigError> {
        let rate = rate("rate_limit.rate", text.rate)?;
        Ok(Self::new(rate, count("rate_limit.burst", text.burst)?)?.with_max_wait(text.max_wait))
    }
}

//! `[hedge]`: when further copies of a slow call go out.

use serde::{Deserialize, Serialize};

use super::convert::{count, share, written_as};
use crate::error::ConfigError;
use crate::hedge::HedgePlan;
use crate::time::Span;

written_as!(HedgePlan, HedgeText, "the table of a hedging plan: delay, quantile, copies");

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HedgeText {
    /// The fixed delay, or with a quantile the one used while too few latencies are known.
    delay: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quantile: Option<f64>,
    #[serde(default = "fewest_copies")]
    copies: i64,
}

/// The call and one copy of it: the least that is hedging at all.
const fn fewest_copies() -> i64 {
    2
}

impl From<HedgePlan> for HedgeText {
    fn from(plan: HedgePlan) -> Self {
        let quantile = plan.latency_quantile().map(|quantile| quantile.as_f64());
        Self { delay: plan.delay(None), quantile, copies: i64::from(plan.copies()) }
    }
}

impl TryFrom<HedgeText> for HedgePlan {
    type Error = ConfigError;

    fn try_from(text: HedgeText) -> Result<Self, ConfigError> {
        let copies = count("hedge.copies", text.copies)?;
        match text.quantile {
            Some(q) => Self::quantile(share("hedge.quantile", q)?, text.delay, copies),
            None => Self::fixed(text.delay, copies),
        }
    }
}

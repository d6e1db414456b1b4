//! `[adaptive]`: exactly one limit that covers first attempts too, by its name.

use serde::{Deserialize, Serialize};

use super::convert::{share, written_as};
use crate::adaptive::{AdaptivePlan, ClientThrottlePlan};
use crate::error::ConfigError;
use crate::time::Span;

written_as!(AdaptivePlan, AdaptiveText, "the one adaptive limit: cubic, or a table throttle");

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AdaptiveText {
    Throttle(ClientThrottleText),
    Cubic,
}

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ClientThrottleText {
    multiplier: f64,
    window: Span,
}

impl Default for ClientThrottleText {
    fn default() -> Self {
        ClientThrottlePlan::default().into()
    }
}

impl From<ClientThrottlePlan> for ClientThrottleText {
    fn from(plan: ClientThrottlePlan) -> Self {
        Self { multiplier: plan.multiplier().as_f64(), window: plan.window() }
    }
}

impl From<AdaptivePlan> for AdaptiveText {
    fn from(plan: AdaptivePlan) -> Self {
        match plan {
            AdaptivePlan::Throttle(plan) => Self::Throttle(plan.into()),
            AdaptivePlan::Cubic => Self::Cubic,
        }
    }
}

impl TryFrom<AdaptiveText> for AdaptivePlan {
    type Error = ConfigError;

    fn try_from(text: AdaptiveText) -> Result<Self, ConfigError> {
        match text {
            AdaptiveText::Throttle(ClientThrottleText { multiplier, window }) => {
                let multiplier = share("adaptive.throttle.multiplier", multiplier)?;
                ClientThrottlePlan::new(multiplier, window).map(Self::Throttle)
            }
            AdaptiveText::Cubic => Ok(Self::Cubic),
        }
    }
}

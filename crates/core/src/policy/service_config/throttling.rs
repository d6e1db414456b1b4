//! `retryThrottling`: the budget of everything that goes to one server name.

use serde::Deserialize;

use crate::budget::ThrottlePlan;
use crate::error::ConfigError;
use crate::ratio::Ratio;

/// A service config's `retryThrottling`, checked as gRFC A6 says.
///
/// ```
/// use stagger_core::service_config::RetryThrottling;
/// let given = r#"{ "maxTokens": 10, "tokenRatio": 0.1 }"#;
/// let throttling: RetryThrottling = serde_json::from_str(given)?;
/// assert_eq!(throttling.plan().max_tokens(), 10);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RetryThrottlingText")]
pub struct RetryThrottling(ThrottlePlan);

impl RetryThrottling {
    /// The budget's rule.
    #[must_use]
    pub const fn plan(&self) -> ThrottlePlan {
        self.0
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RetryThrottlingText {
    max_tokens: i64,
    token_ratio: f64,
}

impl TryFrom<RetryThrottlingText> for RetryThrottling {
    type Error = ConfigError;

    fn try_from(text: RetryThrottlingText) -> Result<Self, ConfigError> {
        let (tokens, ratio) = ("retryThrottling.maxTokens", "retryThrottling.tokenRatio");
        let max_tokens = u32::try_from(text.max_tokens)
            .map_err(|_| ConfigError::new(tokens, text.max_tokens, "from 1 to 1000"))?;
        let token_ratio = Ratio::try_from(text.token_ratio).map_err(|error| error.at(ratio))?;
        let plan = ThrottlePlan::new(max_tokens, token_ratio).map_err(|error| {
            let field = if error.field() == "budget.max_tokens" { tokens } else { ratio };
            error.at(field)
        });
        plan.map(Self)
    }
}

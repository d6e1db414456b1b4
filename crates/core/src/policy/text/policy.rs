//! The whole policy: one table for each part.

use serde::{Deserialize, Serialize};

use super::backoff::throttled;
use super::convert::written_as;
use super::limits::LimitsText;
use crate::adaptive::AdaptivePlan;
use crate::backoff::Backoff;
use crate::breaker::BreakerPlan;
use crate::budget::BudgetPlan;
use crate::concurrency::ConcurrencyPlan;
use crate::error::ConfigError;
use crate::hedge::HedgePlan;
use crate::limits::Limits;
use crate::policy::{HintRule, Policy};
use crate::rate_limit::RatePlan;

written_as!(
    /// From any self-describing format. The keys are those of the builders, each part a table.
    ///
    /// ```
    /// use stagger_core::{Policy, Span};
    /// let policy: Policy = toml::from_str("
    ///     backoff = { base = '50ms', cap = '5s' }
    ///     limits = { max_attempts = 4, deadline = '30s' }
    ///     budget.window = { ratio = 0.2 }
    /// ")?;
    /// assert_eq!(policy.limits().deadline(), Some(Span::from_secs(30)));
    /// # Ok::<(), toml::de::Error>(())
    /// ```
    Policy,
    PolicyText,
    "the tables backoff, throttled_backoff, limits, hints, budget, breaker, hedge, adaptive, concurrency_limit, rate_limit and on_refusal"
);

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PolicyText {
    backoff: Backoff,
    #[serde(deserialize_with = "throttled", skip_serializing_if = "Option::is_none")]
    throttled_backoff: Option<Backoff>,
    limits: Limits,
    hints: HintRule,
    budget: BudgetPlan,
    #[serde(skip_serializing_if = "Option::is_none")]
    breaker: Option<BreakerPlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hedge: Option<HedgePlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    adaptive: Option<AdaptivePlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency_limit: Option<ConcurrencyPlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limit: Option<RatePlan>,
    #[serde(skip_serializing_if = "OnRefusal::is_usual")]
    on_refusal: OnRefusal,
}

/// The behaviour of a call that its breaker or its budget refuses: by default it ends immediately.
///
/// A table of its own, because a key of the whole policy would have to stand above all tables.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OnRefusal {
    wait_for_breaker: bool,
    pause_when_empty: bool,
}

impl OnRefusal {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for PolicyText {
    fn default() -> Self {
        Policy::default().into()
    }
}

impl From<Policy> for PolicyText {
    fn from(policy: Policy) -> Self {
        Self {
            backoff: policy.backoff,
            throttled_backoff: policy.throttled_backoff,
            limits: policy.limits,
            hints: policy.hints,
            budget: policy.budget,
            breaker: policy.breaker,
            hedge: policy.hedge,
            adaptive: policy.adaptive,
            concurrency_limit: policy.concurrency_limit,
            rate_limit: policy.rate_limit,
            on_refusal: OnRefusal {
                wait_for_breaker: policy.wait_for_breaker,
                pause_when_empty: policy.pause_when_empty,
            },
        }
    }
}

impl TryFrom<PolicyText> for Policy {
    type Error = ConfigError;

    fn try_from(text: PolicyText) -> Result<Self, ConfigError> {
        let mut builder = LimitsText::from(text.limits)
            .set(Self::builder())?
            .backoff(text.backoff)
            .hints(text.hints)
            .budget(text.budget)
            .wait_for_breaker(text.on_refusal.wait_for_breaker)
            .pause_when_empty(text.on_refusal.pause_when_empty);
        if let Some(rule) = text.throttled_backoff {
            builder = builder.throttled_backoff(rule);
        }
        if let Some(plan) = text.breaker {
            builder = builder.breaker(plan);
        }
        if let Some(plan) = text.hedge {
            builder = builder.hedge(plan);
        }
        if let Some(plan) = text.adaptive {
            builder = builder.adaptive(plan);
        }
        if let Some(plan) = text.concurrency_limit {
            builder = builder.concurrency_limit(plan);
        }
        if let Some(plan) = text.rate_limit {
            builder = builder.rate_limit(plan);
        }
        builder.build()
    }
}

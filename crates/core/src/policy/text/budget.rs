//! `[budget]`: exactly one kind, by its name.

use serde::{Deserialize, Serialize};

use super::convert::{RenamedKey, count, renamed, share, written_as};
use super::window::WindowText;
use crate::budget::{BudgetPlan, Charge, IntervalPlan, ThrottlePlan, TokenPlan};
use crate::error::ConfigError;
use crate::time::Span;

written_as!(
    BudgetPlan,
    BudgetText,
    "the one kind of a budget: unlimited, none, or a table window, tokens, throttle or interval"
);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BudgetText {
    Unlimited,
    None,
    Window(WindowText),
    Tokens(TokensText),
    Throttle(ThrottleText),
    Interval(IntervalText),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensText {
    capacity: i64,
    retry: i64,
    /// Missing: as much as a retry. So with the other prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throttled: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hedge: Option<i64>,
    /// Missing: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_try: Option<i64>,
    /// Missing: full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initial: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThrottleText {
    max_tokens: i64,
    token_ratio: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IntervalText {
    retries: i64,
    interval: Span,
}

/// The places in the text of the settings that the plans name.
const KEYS: [RenamedKey; 15] = [
    ("budget.ratio", "budget.window.ratio"),
    ("budget.window", "budget.window.window"),
    ("budget.floor", "budget.window.floor"),
    ("budget.burst", "budget.window.burst"),
    ("budget.capacity", "budget.tokens.capacity"),
    ("budget.retry", "budget.tokens.retry"),
    ("budget.timeout", "budget.tokens.timeout"),
    ("budget.throttled", "budget.tokens.throttled"),
    ("budget.hedge", "budget.tokens.hedge"),
    ("budget.first_try", "budget.tokens.first_try"),
    ("budget.initial", "budget.tokens.initial"),
    ("budget.max_tokens", "budget.throttle.max_tokens"),
    ("budget.token_ratio", "budget.throttle.token_ratio"),
    ("budget.retries", "budget.interval.retries"),
    ("budget.interval", "budget.interval.interval"),
];

impl From<BudgetPlan> for BudgetText {
    fn from(plan: BudgetPlan) -> Self {
        match plan {
            BudgetPlan::Unlimited => Self::Unlimited,
            BudgetPlan::None => Self::None,
            BudgetPlan::Window(plan) => Self::Window(plan.into()),
            BudgetPlan::Tokens(plan) => Self::Tokens(plan.into()),
            BudgetPlan::Throttle(plan) => Self::Throttle(plan.into()),
            BudgetPlan::Interval(plan) => Self::Interval(plan.into()),
        }
    }
}

impl TryFrom<BudgetText> for BudgetPlan {
    type Error = ConfigError;

    fn try_from(text: BudgetText) -> Result<Self, ConfigError> {
        let plan = match text {
            BudgetText::Unlimited => Ok(Self::Unlimited),
            BudgetText::None => Ok(Self::None),
            BudgetText::Window(text) => text.try_into().map(Self::Window),
            BudgetText::Tokens(text) => text.try_into().map(Self::Tokens),
            BudgetText::Throttle(text) => text.try_into().map(Self::Throttle),
            BudgetText::Interval(text) => text.try_into().map(Self::Interval),
        };
        plan.map_err(|error| renamed(&error, &KEYS))
    }
}

impl From<TokenPlan> for TokensText {
    fn from(plan: TokenPlan) -> Self {
        let unless = |usual: u32, n: u32| (n != usual).then(|| i64::from(n));
        let retry = plan.cost(Charge::Retry);
        Self {
            capacity: i64::from(plan.capacity()),
            retry: i64::from(retry),
            timeout: unless(retry, plan.cost(Charge::Timeout)),
            throttled: unless(retry, plan.cost(Charge::Throttled)),
            hedge: unless(retry, plan.cost(Charge::Hedge)),
            first_try: unless(1, plan.first_try()),
            initial: unless(plan.capacity(), plan.initial()),
        }
    }
}

impl TryFrom<TokensText> for TokenPlan {
    type Error = ConfigError;

    fn try_from(text: TokensText) -> Result<Self, ConfigError> {
        type Setter = fn(TokenPlan, u32) -> Result<TokenPlan, ConfigError>;
        let settings: [(&'static str, Option<i64>, Setter); 5] = [
            ("budget.timeout", text.timeout, Self::with_timeout),
            ("budget.throttled", text.throttled, Self::with_throttled),
            ("budget.hedge", text.hedge, Self::with_hedge),
            ("budget.first_try", text.first_try, Self::with_first_try),
            ("budget.initial", text.initial, Self::with_initial),
        ];
        let capacity = count("budget.capacity", text.capacity)?;
        let mut plan = Self::new(capacity, count("budget.retry", text.retry)?)?;
        for (field, n, set) in settings {
            if let Some(n) = n {
                plan = set(plan, count(field, n)?)?;
            }
        }
        Ok(plan)
    }
}

impl From<ThrottlePlan> for ThrottleText {
    fn from(plan: ThrottlePlan) -> Self {
        let max_tokens = i64::from(plan.max_tokens());
        Self { max_tokens, token_ratio: plan.token_ratio().as_f64() }
    }
}

impl TryFrom<ThrottleText> for ThrottlePlan {
    type Error = ConfigError;

    fn try_from(text: ThrottleText) -> Result<Self, ConfigError> {
        let max_tokens = count("budget.max_tokens", text.max_tokens)?;
        Self::new(max_tokens, share("budget.token_ratio", text.token_ratio)?)
    }
}

impl From<IntervalPlan> for IntervalText {
    fn from(plan: IntervalPlan) -> Self {
        Self { retries: i64::from(plan.retries()), interval: plan.interval() }
    }
}

impl TryFrom<IntervalText> for IntervalPlan {
    type Error = ConfigError;

    fn try_from(text: IntervalText) -> Result<Self, ConfigError> {
        let retries = u8::try_from(text.retries)
            .map_err(|_| ConfigError::new("budget.retries", text.retries, "from 1 to 16"))?;
        Self::new(retries, text.interval)
    }
}

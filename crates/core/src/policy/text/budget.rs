//! `[budget]`: exactly one kind, by its name: a window, tokens, a throttle or an interval.

use serde::{Deserialize, Serialize, Serializer};

use super::convert::{RenamedKey, count, rate, renamed, share, written_as};
use crate::budget::{
    BudgetPlan, Charge, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan,
};
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

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WindowText {
    ratio: f64,
    window: Span,
    #[serde(serialize_with = "whole_if_whole")]
    floor: f64,
    #[serde(skip_serializing_if = "FloorRule::is_usual")]
    floor_rule: FloorRule,
    /// Missing: what the floor implies.
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<i64>,
}

/// The way in which the floor and the share are combined.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FloorRule {
    Add,
    AtLeast,
}

impl FloorRule {
    fn is_usual(&self) -> bool {
        *self == Self::Add
    }
}

impl Default for WindowText {
    fn default() -> Self {
        WindowPlan::default().into()
    }
}

impl From<WindowPlan> for WindowText {
    fn from(plan: WindowPlan) -> Self {
        let floor_rule = match plan.floor() {
            FloorRate::Add(_) => FloorRule::Add,
            FloorRate::AtLeast(_) => FloorRule::AtLeast,
        };
        Self {
            ratio: plan.ratio().as_f64(),
            window: plan.window(),
            floor: plan.floor().rate().as_f64(),
            floor_rule,
            burst: plan.own_burst().map(i64::from),
        }
    }
}

impl TryFrom<WindowText> for WindowPlan {
    type Error = ConfigError;

    fn try_from(text: WindowText) -> Result<Self, ConfigError> {
        let rate = rate("budget.floor", text.floor)?;
        let floor = match text.floor_rule {
            FloorRule::Add => FloorRate::Add(rate),
            FloorRule::AtLeast => FloorRate::AtLeast(rate),
        };
        let plan = Self::new(share("budget.ratio", text.ratio)?)?.with_window(text.window)?;
        let plan = plan.with_floor(floor);
        match text.burst {
            Some(burst) => plan.with_burst(count("budget.burst", burst)?),
            None => Ok(plan),
        }
    }
}

/// Whole rates are written as people write them: `1`, not `1.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn whole_if_whole<S: Serializer>(rate: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // OK because a rate is at most 10^6, and only a whole one is cast.
    #[expect(clippy::cast_possible_truncation, reason = "at most 10^6")]
    let whole = *rate as i64;
    #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "at most 10^6, exact")]
    let is_whole = whole as f64 == *rate;
    if is_whole { serializer.serialize_i64(whole) } else { serializer.serialize_f64(*rate) }
}

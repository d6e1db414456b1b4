//! The rule of a budget: one of six kinds.

use super::{IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};

/// The rule by which retries are granted; immutable, and valid once it exists.
///
/// ```
/// use stagger_core::budget::{BudgetPlan, WindowPlan};
/// assert_eq!(BudgetPlan::default(), BudgetPlan::Window(WindowPlan::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetPlan {
    /// Every retry is granted: no protection, said out loud.
    Unlimited,
    /// No retry is granted.
    None,
    /// A share of the first attempts in a sliding window, plus a floor.
    Window(WindowPlan),
    /// The token bucket of the AWS SDKs.
    Tokens(TokenPlan),
    /// The retry throttle of gRPC (gRFC A6).
    Throttle(ThrottlePlan),
    /// At most n retries in any interval.
    Interval(IntervalPlan),
}

impl Default for BudgetPlan {
    /// The windowed ratio: 10 % of the first attempts of the last 10 s, and one retry in 20 s.
    fn default() -> Self {
        Self::Window(WindowPlan::default())
    }
}

impl From<WindowPlan> for BudgetPlan {
    fn from(plan: WindowPlan) -> Self {
        Self::Window(plan)
    }
}

impl From<TokenPlan> for BudgetPlan {
    fn from(plan: TokenPlan) -> Self {
        Self::Tokens(plan)
    }
}

impl From<ThrottlePlan> for BudgetPlan {
    fn from(plan: ThrottlePlan) -> Self {
        Self::Throttle(plan)
    }
}

impl From<IntervalPlan> for BudgetPlan {
    fn from(plan: IntervalPlan) -> Self {
        Self::Interval(plan)
    }
}

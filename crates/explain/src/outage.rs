//! The longest outage that a call rides out.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, Span};

use crate::calls::PlayedCalls;
use crate::figure::quantile;
use crate::{Method, Quantiles};

/// The start of the last attempt, of calls that begin with the outage and fail at once: whoever comes
/// back after its end has ridden it out. A budget that still grants is taken for granted.
pub(crate) fn outage(policy: &Policy, mut calls: PlayedCalls) -> Quantiles {
    if *policy.budget() == BudgetPlan::None {
        return Quantiles { p5: Span::ZERO, p50: Span::ZERO, method: Method::Exact };
    }
    let method = calls.method();
    let p5 = quantile(&mut calls.lasts, 5);
    Quantiles { p5, p50: quantile(&mut calls.lasts, 50), method }
}

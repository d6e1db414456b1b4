//! The retries that a budget grants to one failing call while the other calls of its process succeed.

use stagger_core::Span;
use stagger_core::budget::{BudgetPlan, Charge, Floor, WindowPlan};

use crate::figure::float;

/// A budget at rest, asked by one call only: no budget ever grants a call more than this.
///
/// The rule is computed and not played, because a window may count millions of first attempts. Its
/// slots are ignored: they hold a grant for up to a tenth of the window longer.
#[derive(Clone, Debug)]
pub(crate) struct LoneCall<'p> {
    plan: &'p BudgetPlan,
    /// First attempts a second, where known.
    rps: Option<f64>,
    /// The times of the grants, in order.
    grants: Vec<Span>,
    /// Tokens of a bucket, thousandths of a token of a throttle.
    held: f64,
    /// The time of the last question.
    at: Span,
}

impl<'p> LoneCall<'p> {
    pub(crate) fn new(plan: &'p BudgetPlan, rps: Option<f64>) -> Self {
        let mut call = Self { plan, rps, grants: Vec::new(), held: 0.0, at: Span::ZERO };
        call.restart();
        call
    }

    /// Forgets the call, so that another one may ask.
    pub(crate) fn restart(&mut self) {
        self.grants.clear();
        self.at = Span::ZERO;
        self.held = match self.plan {
            BudgetPlan::Tokens(plan) if plan.first_try() == 0 => f64::from(plan.initial()),
            BudgetPlan::Tokens(plan) => f64::from(plan.capacity()),
            BudgetPlan::Throttle(plan) => f64::from(plan.max_tokens()) * 1_000.0,
            _ => 0.0,
        };
    }

    /// Whether an attempt that failed so long after the call began may be retried.
    pub(crate) fn ask(&mut self, at: Span, charge: Charge) -> bool {
        let successes = self.rps.unwrap_or(0.0) * (at - self.at).as_secs_f64();
        self.at = at;
        let granted = match self.plan {
            BudgetPlan::None => false,
            BudgetPlan::Window(plan) => {
                self.since(at, plan.window()) + 1.0 <= window_allowance(plan, self.rps)
            }
            BudgetPlan::Interval(plan) => {
                self.since(at, plan.interval()) < f64::from(plan.retries())
            }
            BudgetPlan::Tokens(plan) => {
                let paid_in = successes * f64::from(plan.first_try());
                let cost = f64::from(plan.cost(charge));
                let full = f64::from(plan.capacity()).max(self.held);
                self.held = (self.held + paid_in).min(full);
                let payable = self.held >= cost;
                self.held -= if payable { cost } else { 0.0 };
                payable
            }
            BudgetPlan::Throttle(plan) => {
                let full = f64::from(plan.max_tokens()) * 1_000.0;
                let credit = successes * plan.token_ratio().as_f64() * 1_000.0;
                // The failure that is to be retried has been counted when the budget is asked.
                self.held = ((self.held + credit).min(full) - 1_000.0).max(0.0);
                self.held > full / 2.0
            }
            _ => true,
        };
        if granted && matches!(self.plan, BudgetPlan::Window(_) | BudgetPlan::Interval(_)) {
            self.grants.push(at);
        }
        granted
    }

    /// The grants of the last stretch of this length.
    fn since(&self, at: Span, length: Span) -> f64 {
        let old = self.grants.partition_point(|grant| at - *grant >= length);
        float((self.grants.len() - old) as u64)
    }
}

/// The retries that a window grants; without a known rate, under much traffic.
fn window_allowance(plan: &WindowPlan, rps: Option<f64>) -> f64 {
    let (ratio, length) = (plan.ratio().as_f64(), plan.window().as_secs_f64());
    let share = match rps {
        Some(rps) => ratio * rps * length,
        None if ratio > 0.0 => f64::INFINITY,
        None => 0.0,
    };
    // The rounding of a product must not cost a whole retry.
    let slack = 1e-9;
    slack
        + match plan.floor() {
            Floor::Add(floor) => share + f64::from(floor) * length,
            Floor::AtLeast(floor) => share.max(f64::from(floor) * length),
        }
}

#[cfg(test)]
mod tests {
    use stagger_core::budget::{IntervalPlan, ThrottlePlan, TokenPlan};
    use stagger_core::{ConfigError, Ratio};

    use super::*;

    fn granted(plan: BudgetPlan, rps: Option<f64>) -> usize {
        let mut call = LoneCall::new(&plan, rps);
        (0..50).take_while(|_| call.ask(Span::ZERO, Charge::Retry)).count()
    }

    #[test]
    fn a_burst_of_one_call_is_what_the_engine_grants() -> Result<(), ConfigError> {
        let tenth = Ratio::from_percent(10);
        let throttle = |max| ThrottlePlan::new(max, tenth).map(BudgetPlan::from);
        assert_eq!(
            [1, 2, 3, 10].map(|max| throttle(max).map(|it| granted(it, None))),
            [Ok(0), Ok(0), Ok(1), Ok(4)]
        );
        assert_eq!(granted(IntervalPlan::new(3, Span::from_secs(9))?.into(), None), 3);
        assert_eq!(granted(TokenPlan::new(100, 5)?.into(), None), 20);
        let bare = WindowPlan::new(tenth)?.with_floor(Floor::Add(0))?;
        assert_eq!(granted(bare.into(), Some(0.9)), 0);
        assert_eq!(granted(bare.into(), Some(1.0)), 1);
        assert_eq!(granted(bare.into(), Some(3.0)), 3);
        Ok(())
    }
}

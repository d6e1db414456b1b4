//! The retries that a budget grants to one failing call while the other calls of its process succeed.

use stagger_core::Span;
use stagger_core::budget::{BudgetPlan, Charge};

use crate::figure::float;
use crate::fleet::window;

/// A budget at rest, asked by one call only: no budget ever grants a call more than this.
///
/// The rule is computed and not played, because a window may count millions of first attempts. A
/// window is a bucket here: full at rest, and refilled by its share and its floor.
#[derive(Clone, Debug)]
pub(crate) struct LoneCall<'p> {
    plan: &'p BudgetPlan,
    /// First attempts a second, where known.
    rps: Option<f64>,
    /// The times of the grants of an interval, in order.
    grants: Vec<Span>,
    /// Retries of a window, tokens of a bucket, thousandths of a token of a throttle.
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
            BudgetPlan::Window(plan) => window(plan, self.traffic()).1,
            BudgetPlan::Tokens(plan) if plan.first_try() == 0 => f64::from(plan.initial()),
            BudgetPlan::Tokens(plan) => f64::from(plan.capacity()),
            BudgetPlan::Throttle(plan) => f64::from(plan.max_tokens()) * 1_000.0,
            _ => 0.0,
        };
    }

    /// Whether an attempt that failed so long after the call began may be retried.
    pub(crate) fn ask(&mut self, at: Span, charge: Charge) -> bool {
        let elapsed = (at - self.at).as_secs_f64();
        let successes = self.rps.unwrap_or(0.0) * elapsed;
        self.at = at;
        let granted = match self.plan {
            BudgetPlan::None => false,
            BudgetPlan::Window(plan) => {
                let (rate, full) = window(plan, self.traffic());
                self.held = (self.held + rate * elapsed).min(full);
                // The rounding of a product must not cost a whole retry.
                let whole = self.held + 1e-9 >= 1.0;
                self.held -= if whole { 1.0 } else { 0.0 };
                whole
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
        if granted && matches!(self.plan, BudgetPlan::Interval(_)) {
            self.grants.push(at);
        }
        granted
    }

    /// First attempts a second: without a known rate, much traffic.
    fn traffic(&self) -> f64 {
        self.rps.unwrap_or(f64::INFINITY)
    }

    /// The grants of the last stretch of this length.
    fn since(&self, at: Span, length: Span) -> f64 {
        let old = self.grants.partition_point(|grant| at - *grant >= length);
        float((self.grants.len() - old) as u64)
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::budget::{Floor, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};
    use stagger_core::{ConfigError, Rate, Ratio};

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
        let bare = WindowPlan::new(tenth)?.with_floor(Floor::Add(Rate::ZERO));
        assert_eq!(granted(bare.into(), Some(0.9)), 0);
        assert_eq!(granted(bare.into(), Some(1.0)), 1);
        assert_eq!(granted(bare.into(), Some(3.0)), 3);
        Ok(())
    }
}

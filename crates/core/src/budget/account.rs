//! A budget: a plan and what it remembers.

use super::{
    BudgetPlan, Charge, IntervalState, Level, Paid, Settled, ThrottleState, TokenState, WindowState,
};
use crate::Instant;

/// A plan with what it remembers; whoever shares it between threads brings the lock.
///
/// ```
/// use stagger_core::budget::{Budget, Charge, Settled, TokenPlan};
/// use stagger_core::Instant;
///
/// let mut budget = Budget::new(TokenPlan::aws_2_0().into());
/// let now = Instant::ORIGIN;
/// budget.on_first(now);
/// let paid = budget.ask(now, Charge::Retry).expect("the bucket is full");
/// assert_eq!(budget.level(now).held, 495);
/// budget.on_settled(now, Settled::AfterRetry(paid));
/// assert_eq!(budget.level(now).held, 500);
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    plan: BudgetPlan,
    state: BudgetState,
}

impl Budget {
    /// A budget that has seen nothing yet.
    #[must_use]
    pub fn new(plan: BudgetPlan) -> Self {
        let state = match &plan {
            BudgetPlan::Unlimited | BudgetPlan::None => BudgetState::Nothing,
            BudgetPlan::Window(_) => BudgetState::Window(WindowState::default()),
            BudgetPlan::Tokens(plan) => BudgetState::Tokens(plan.start()),
            BudgetPlan::Throttle(plan) => BudgetState::Throttle(plan.start()),
            BudgetPlan::Interval(_) => BudgetState::Interval(IntervalState::default()),
        };
        Self { plan, state }
    }

    pub(super) const fn with_state(plan: BudgetPlan, state: BudgetState) -> Self {
        Self { plan, state }
    }

    pub(super) const fn state(&self) -> &BudgetState {
        &self.state
    }

    /// The rule.
    #[must_use]
    pub const fn plan(&self) -> &BudgetPlan {
        &self.plan
    }

    /// A call's first attempt starts.
    #[inline]
    pub fn on_first(&mut self, now: Instant) {
        if let (BudgetPlan::Window(plan), BudgetState::Window(state)) =
            (&self.plan, &mut self.state)
        {
            plan.on_first(state, now);
        }
    }

    /// Asks for a retry or a hedge; `None` refuses, and then nothing was taken.
    #[inline]
    pub fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        match (&self.plan, &mut self.state) {
            (BudgetPlan::Window(plan), BudgetState::Window(state)) => plan.ask(state, now),
            (BudgetPlan::Tokens(plan), BudgetState::Tokens(state)) => {
                let (paid, after) = plan.ask(*state, charge)?;
                *state = after;
                Some(paid)
            }
            (BudgetPlan::Throttle(plan), BudgetState::Throttle(state)) => plan.ask(*state),
            (BudgetPlan::Interval(plan), BudgetState::Interval(state)) => plan.ask(state, now),
            (BudgetPlan::Unlimited, _) => Some(Paid::FREE),
            // `None`, and pairs that `new` never makes.
            _ => None,
        }
    }

    /// Gives back a grant whose attempt never started: the call was dropped, its deadline passed,
    /// or a breaker refused it. At most once for each grant.
    pub fn refund(&mut self, now: Instant, paid: Paid) {
        match (&self.plan, &mut self.state) {
            (BudgetPlan::Window(plan), BudgetState::Window(state)) => plan.refund(state, now, paid),
            (BudgetPlan::Tokens(plan), BudgetState::Tokens(state)) => {
                *state = plan.refund(*state, paid);
            }
            (BudgetPlan::Interval(plan), BudgetState::Interval(state)) => plan.refund(state, paid),
            // The throttle takes nothing for a grant, so there is nothing to give back.
            _ => {}
        }
    }

    /// An attempt settled.
    #[inline]
    pub fn on_settled(&mut self, now: Instant, settled: Settled) {
        // No kind needs it today; a budget that refills by time will.
        let _ = now;
        match (&self.plan, &mut self.state) {
            (BudgetPlan::Tokens(plan), BudgetState::Tokens(state)) => {
                *state = plan.on_settled(*state, settled);
            }
            (BudgetPlan::Throttle(plan), BudgetState::Throttle(state)) => {
                *state = plan.on_settled(*state, settled);
            }
            _ => {}
        }
    }

    /// Returns the level of the budget.
    #[must_use]
    pub fn level(&self, now: Instant) -> Level {
        match (&self.plan, &self.state) {
            (BudgetPlan::Window(plan), BudgetState::Window(state)) => plan.level(state, now),
            (BudgetPlan::Tokens(plan), BudgetState::Tokens(state)) => plan.level(*state),
            (BudgetPlan::Throttle(plan), BudgetState::Throttle(state)) => plan.level(*state),
            (BudgetPlan::Interval(plan), BudgetState::Interval(state)) => plan.level(state, now),
            (BudgetPlan::Unlimited, _) => Level::UNLIMITED,
            _ => Level::NONE,
        }
    }
}

impl Default for Budget {
    /// A budget under the default plan.
    fn default() -> Self {
        Self::new(BudgetPlan::default())
    }
}

/// The state of a plan; `Budget::new` pairs each plan with its own kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum BudgetState {
    Nothing,
    Window(WindowState),
    Tokens(TokenState),
    Throttle(ThrottleState),
    Interval(IntervalState),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_objects_always_answer_the_same() {
        let now = Instant::ORIGIN;
        let mut unlimited = Budget::new(BudgetPlan::Unlimited);
        let mut none = Budget::new(BudgetPlan::None);
        for _ in 0..1_000 {
            assert_eq!(unlimited.ask(now, Charge::Timeout), Some(Paid::FREE));
            assert_eq!(none.ask(now, Charge::Retry), None);
            none.on_settled(now, Settled::FirstTry);
        }
        assert_eq!(unlimited.level(now).retries, u64::MAX);
        assert_eq!(none.level(now).retries, 0);
    }

    #[test]
    fn a_default_budget_is_never_the_unlimited_one() {
        // aws/aws-sdk-go-v2 #3550: a refactoring dropped the bucket and nobody noticed.
        assert!(matches!(Budget::default().plan(), BudgetPlan::Window(_)));
    }
}

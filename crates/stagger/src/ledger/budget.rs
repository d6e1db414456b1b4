//! One destination's budget, asked by many threads.

use stagger_core::Instant;
use stagger_core::budget::{Budget, BudgetPlan, Charge, Level, Paid, Settled};

use super::atomic_budgets::{Throttle, TokenBucket};
use super::interval_budget::IntervalBudget;
use super::sync::{Mutex, MutexGuard, PoisonError};
use super::window_budget::WindowBudget;
use crate::OsEntropy;

/// A plan's memory, each kind in the form that needs the fewest locks.
#[derive(Debug)]
pub(super) enum LocalBudget {
    Unlimited,
    None,
    Window(Box<WindowBudget>),
    Tokens(TokenBucket),
    Throttle(Throttle),
    Interval(Box<IntervalBudget>),
    /// Kinds that the engine learns before this crate does.
    Locked(Box<Mutex<Budget>>),
}

impl LocalBudget {
    pub(super) fn new(plan: BudgetPlan) -> Self {
        match plan {
            BudgetPlan::Unlimited => Self::Unlimited,
            BudgetPlan::None => Self::None,
            BudgetPlan::Window(plan) => {
                Self::Window(Box::new(WindowBudget::new(plan.in_random_phase(&mut OsEntropy))))
            }
            BudgetPlan::Tokens(plan) => Self::Tokens(TokenBucket::new(plan)),
            BudgetPlan::Throttle(plan) => Self::Throttle(Throttle::new(plan)),
            BudgetPlan::Interval(plan) => Self::Interval(Box::new(IntervalBudget::new(plan))),
            _ => Self::Locked(Box::new(Mutex::new(Budget::new(plan)))),
        }
    }

    #[inline]
    pub(super) fn on_first(&self, now: Instant) {
        match self {
            Self::Window(window) => window.on_first(now),
            Self::Locked(budget) => on_first_locked(budget, now),
            _ => {}
        }
    }

    #[inline]
    pub(super) fn ask(&self, now: Instant, charge: Charge) -> Option<Paid> {
        match self {
            Self::Unlimited => Some(Paid::FREE),
            Self::None => None,
            Self::Window(window) => window.ask(now),
            Self::Tokens(bucket) => bucket.ask(charge),
            Self::Throttle(throttle) => throttle.ask(),
            Self::Interval(interval) => interval.ask(now),
            Self::Locked(budget) => lock(budget).ask(now, charge),
        }
    }

    pub(super) fn refund(&self, now: Instant, paid: Paid) {
        match self {
            Self::Window(window) => window.refund(now, paid),
            Self::Tokens(bucket) => bucket.refund(paid),
            Self::Interval(interval) => interval.refund(paid),
            Self::Locked(budget) => lock(budget).refund(now, paid),
            // They take nothing for a grant, so there is nothing to give back.
            Self::Unlimited | Self::None | Self::Throttle(_) => {}
        }
    }

    #[inline]
    pub(super) fn on_settled(&self, now: Instant, settled: Settled) {
        match self {
            Self::Tokens(bucket) => bucket.on_settled(settled),
            Self::Throttle(throttle) => throttle.on_settled(settled),
            Self::Locked(budget) => on_settled_locked(budget, now, settled),
            _ => {}
        }
    }

    pub(super) fn level(&self, now: Instant) -> Level {
        match self {
            Self::Unlimited => Budget::new(BudgetPlan::Unlimited).level(now),
            Self::None => Budget::new(BudgetPlan::None).level(now),
            Self::Window(window) => window.level(now),
            Self::Tokens(bucket) => bucket.level(),
            Self::Throttle(throttle) => throttle.level(),
            Self::Interval(interval) => interval.level(now),
            Self::Locked(budget) => lock(budget).level(now),
        }
    }
}

#[cold]
fn on_first_locked(budget: &Mutex<Budget>, now: Instant) {
    lock(budget).on_first(now);
}

#[cold]
fn on_settled_locked(budget: &Mutex<Budget>, now: Instant, settled: Settled) {
    lock(budget).on_settled(now, settled);
}

fn lock(budget: &Mutex<Budget>) -> MutexGuard<'_, Budget> {
    // The engine does not panic, and a budget is whole between its calls.
    budget.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_budget_that_is_not_known_here_still_holds() {
        let plan = stagger_core::budget::TokenPlan::new(10, 5).expect("in bounds").into();
        let budget = LocalBudget::Locked(Box::new(Mutex::new(Budget::new(plan))));
        let now = Instant::ORIGIN;
        budget.on_first(now);
        let paid = budget.ask(now, Charge::Retry).expect("full");
        assert!(budget.ask(now, Charge::Retry).is_some());
        assert!(budget.ask(now, Charge::Retry).is_none());
        budget.refund(now, paid);
        budget.on_settled(now, Settled::FirstTry);
        assert_eq!(budget.level(now).held, 6);
    }
}

//! Requests to a budget, the records of its grants, the outcomes reported to it, and its
//! level.

/// The purpose of a permit; the plan prices it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Charge {
    /// A retry after a transient failure that was no timeout.
    #[default]
    Retry,
    /// A retry after an attempt that ran into its time limit.
    Timeout,
    /// A retry after the server said that it is overloaded or limits us.
    Throttled,
    /// A further copy of a call that is still running.
    Hedge,
}

/// The amount that one grant took from a budget. The call keeps it, so that it can be refunded.
///
/// A `Paid` goes back at most once, and only to the budget that gave it.
///
/// ```
/// use stagger_core::budget::{Budget, BudgetPlan, Charge, Paid, TokenPlan};
/// use stagger_core::Instant;
/// let mut budget = Budget::new(BudgetPlan::Tokens(TokenPlan::aws_2_0()));
/// let paid = budget.ask(Instant::ORIGIN, Charge::Timeout);
/// assert_eq!(paid.map(Paid::amount), Some(10));
/// assert_eq!(Paid::FREE.amount(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a grant is refunded when its attempt never starts"]
pub struct Paid {
    amount: u32,
    /// The plan's record of the grant: see each plan's `ask`.
    mark: u32,
}

impl Paid {
    /// A permit that took nothing.
    pub const FREE: Self = Self { amount: 0, mark: 0 };

    /// A grant of `amount`, noted at `mark`: for whoever keeps a plan's state in its own way.
    pub const fn new(amount: u32, mark: u32) -> Self {
        Self { amount, mark }
    }

    /// The amount taken, in the plan's own unit: tokens for a bucket, retries for a window or an
    /// interval, zero for the others.
    #[must_use]
    pub const fn amount(self) -> u32 {
        self.amount
    }

    /// The plan's record of the grant, by which a refund finds it again; meaningless to others.
    #[must_use]
    pub const fn mark(self) -> u32 {
        self.mark
    }
}

/// The outcome of an attempt, as far as it concerns a budget.
///
/// Outcomes that say nothing about the server's load (permanent, cancelled) are not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settled {
    /// Success at the first attempt.
    FirstTry,
    /// Success after a retry; holds what the last retry paid.
    AfterRetry(Paid),
    /// A failed attempt that counts: a retryable verdict, or the server's "do not come back".
    Failed,
}

/// The level of a budget at one instant: a figure for people and metrics, never for a decision,
/// because another call may ask in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Level {
    /// Retries that would be granted in a row from now on, each failing; `u64::MAX` without limit.
    pub retries: u64,
    /// The amount held, in the plan's own unit: tokens, milli-tokens (throttle), retries (others).
    pub held: u64,
    /// The most that could be held, in the same unit. For a window it moves with the traffic.
    pub capacity: u64,
}

impl Level {
    /// The level of a budget without limit.
    pub(super) const UNLIMITED: Self = Self::of_retries(u64::MAX, u64::MAX);
    /// The level of a budget that grants nothing.
    pub(super) const NONE: Self = Self::of_retries(0, 0);

    /// The level of a budget whose unit is the retry.
    pub(super) const fn of_retries(left: u64, capacity: u64) -> Self {
        Self { retries: left, held: left, capacity }
    }
}

//! The policy: everything that is decided before the first call.

use super::HintRule;
use crate::adaptive::AdaptivePlan;
use crate::backoff::Backoff;
use crate::breaker::BreakerPlan;
use crate::budget::BudgetPlan;
use crate::concurrency::ConcurrencyPlan;
use crate::hedge::HedgePlan;
use crate::limits::Limits;
use crate::rate_limit::RatePlan;

/// The plan for calls to a destination: immutable, validated, `Copy`, shareable.
///
/// A policy holds no state: that of one call lives in [`Retry`](crate::retry::Retry), that of a
/// destination in its budget and breaker.
///
/// ```
/// use stagger_core::{Backoff, Jitter, Policy, Span};
/// let policy = Policy::builder()
///     .backoff(Backoff::exponential(Span::from_millis(50), Span::from_secs(5))?)
///     .max_attempts(4)
///     .deadline(Span::from_secs(20))
///     .build()?;
/// assert_eq!(policy.limits().max_attempts(), Some(4));
/// assert_eq!(policy.backoff().jitter(), Jitter::Full);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    pub(super) backoff: Backoff,
    pub(super) throttled_backoff: Option<Backoff>,
    pub(super) limits: Limits,
    pub(super) hints: HintRule,
    pub(super) budget: BudgetPlan,
    pub(super) breaker: Option<BreakerPlan>,
    pub(super) hedge: Option<HedgePlan>,
    pub(super) adaptive: Option<AdaptivePlan>,
    pub(super) concurrency_limit: Option<ConcurrencyPlan>,
    pub(super) rate_limit: Option<RatePlan>,
    pub(super) wait_for_breaker: bool,
    pub(super) pause_when_empty: bool,
    /// Whether there is a limit of any kind, in one byte for the path that every call takes.
    pub(super) limits_first: bool,
}

impl Policy {
    /// The delay rule.
    #[must_use]
    pub const fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// The delay rule after throttled verdicts: its own, or the general one.
    #[must_use]
    pub fn throttled_backoff(&self) -> &Backoff {
        self.throttled_backoff.as_ref().unwrap_or(&self.backoff)
    }

    /// Attempts, deadline, time per attempt.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The bounds on obeying hints.
    #[must_use]
    pub const fn hints(&self) -> &HintRule {
        &self.hints
    }

    /// The rule of the destination's budget.
    #[must_use]
    pub const fn budget(&self) -> &BudgetPlan {
        &self.budget
    }

    /// The rule of the destination's breaker, if there is one.
    #[must_use]
    pub const fn breaker(&self) -> Option<&BreakerPlan> {
        self.breaker.as_ref()
    }

    /// The hedging plan; `None` without hedging.
    #[must_use]
    pub const fn hedge(&self) -> Option<&HedgePlan> {
        self.hedge.as_ref()
    }

    /// The adaptive limit of the destination, if there is one.
    #[must_use]
    pub const fn adaptive(&self) -> Option<&AdaptivePlan> {
        self.adaptive.as_ref()
    }

    /// The concurrency limit of the destination, if there is one.
    #[must_use]
    pub const fn concurrency_limit(&self) -> Option<&ConcurrencyPlan> {
        self.concurrency_limit.as_ref()
    }

    /// The rate limit of the destination, if there is one.
    #[must_use]
    pub const fn rate_limit(&self) -> Option<&RatePlan> {
        self.rate_limit.as_ref()
    }

    /// Whether attempts pass a concurrency limit or a rate limit.
    pub(crate) const fn is_limited(&self) -> bool {
        self.concurrency_limit.is_some() || self.rate_limit.is_some()
    }

    /// Whether a limit of any kind may hold back a first attempt, which then starts by a session.
    #[inline]
    pub(crate) const fn limits_first(&self) -> bool {
        self.limits_first
    }

    /// Whether a call waits for an open breaker when its deadline allows.
    #[must_use]
    pub const fn waits_for_breaker(&self) -> bool {
        self.wait_for_breaker
    }

    /// Whether a call refused by its budget pauses for its delay before it returns.
    #[must_use]
    pub const fn pauses_when_empty(&self) -> bool {
        self.pause_when_empty
    }
}

//! A breaker, a budget, a concurrency limit and a rate limit alone, for callers that make their attempts themselves.

use std::future::Future;

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, Charge, Settled};
use stagger_core::concurrency::ConcurrencyPlan;
use stagger_core::rate_limit::RatePlan;
use stagger_core::retry::Ledger;
use stagger_core::{Outcome, Policy, PolicyBuilder, Verdict};

use super::operation::Plain;
use super::{Blocking, Classifier, Retrier, RetryCall, RetryIf};
use crate::clock::{Clock, StdTime};
use crate::ledger::LocalLedger;

/// A breaker without retries: one attempt a call, and none while it is open. Clones are one breaker.
///
/// Every error counts as a failure of the server, unless [`when`](RetryCall::when) says which do.
///
/// ```
/// use stagger::breaker::BreakerPlan;
/// use stagger::{Breaker, Stop};
/// let shop = Breaker::new(BreakerPlan::builder().consecutive(2).build()?);
/// let fail = || shop.call_blocking(|| Err::<(), _>("down")).call().unwrap_err();
/// assert_eq!((fail().into_inner(), fail().into_inner()), (Some("down"), Some("down")));
/// assert_eq!(fail().stop(), Stop::BreakerOpen);
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Breaker {
    retrier: Retrier,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(plan: BreakerPlan) -> Self {
        let policy = Policy::builder().max_attempts(1).budget(BudgetPlan::Unlimited);
        let policy = policy.breaker(plan).build();
        // OK because one attempt without times is within the bounds, and so is a plan that exists.
        let policy = policy.unwrap_or_default();
        Self { retrier: Retrier::of(policy) }
    }

    /// A call of `op`, to be awaited.
    pub fn call<T, E, F, Fut>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Retrier, Plain<F>, T, E, EveryError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.retrier.retry(op).every_error()
    }

    /// A blocking call of `op`, made by [`call`](RetryCall::call).
    pub fn call_blocking<T, E, F>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Retrier, Blocking<Plain<F>>, T, E, EveryError>
    where
        F: FnMut() -> Result<T, E>,
    {
        self.retrier.retry_blocking(op).every_error()
    }
}

/// A classifier that takes every error for transient.
#[derive(Clone, Copy, Debug)]
pub struct EveryError;

impl<T, E> Classifier<T, E> for EveryError {
    const OF_ERROR: Option<fn(&mut Self, &E) -> Outcome> =
        Some(|_, _| Outcome::new(Verdict::Transient));

    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        if result.is_ok() { Outcome::OK } else { Outcome::new(Verdict::Transient) }
    }
}

impl<'r, D, O, T, E> RetryCall<'r, D, O, T, E> {
    fn every_error(self) -> RetryCall<'r, D, O, T, E, EveryError> {
        self.classified(|_| EveryError)
    }
}

impl<'r, D, O, T, E> RetryCall<'r, D, O, T, E, EveryError> {
    /// Counts the errors for which `fails` answers yes as failures; the others are signs of life.
    pub fn when<F>(self, fails: F) -> RetryCall<'r, D, O, T, E, RetryIf<F>>
    where
        F: FnMut(&E) -> bool,
    {
        self.classified(|EveryError| RetryIf(fails))
    }
}

/// A budget without calls: for a loop of one's own that asks before each retry. It counts by [`StdTime`], so a
/// test that pauses tokio's clock does not move it.
///
/// ```
/// use stagger::{Budget, budget::BudgetPlan};
/// let budget = Budget::new(BudgetPlan::default());
/// for _ in 0..100 { budget.on_first(); }
/// let granted = (0..100).filter(|_| budget.try_retry()).count();
/// assert!((10..=13).contains(&granted), "a tenth of the first attempts, and those in hand at rest");
/// ```
#[derive(Debug)]
pub struct Budget {
    ledger: LocalLedger,
}

impl Budget {
    /// A budget that has seen nothing yet.
    #[must_use]
    pub fn new(plan: impl Into<BudgetPlan>) -> Self {
        // OK because a plan that exists is within its bounds.
        let policy = Policy::builder().budget(plan).build();
        Self { ledger: LocalLedger::new(&policy.unwrap_or_default()) }
    }

    /// A call's first attempt starts.
    pub fn on_first(&self) {
        (&self.ledger).on_first(StdTime.recent());
    }

    /// A call succeeded at its first attempt, which refills buckets of tokens.
    pub fn on_success(&self) {
        (&self.ledger).on_settled(StdTime.recent(), Settled::FirstTry);
    }

    /// Takes a retry out of the budget; no when there is none.
    #[must_use]
    pub fn try_retry(&self) -> bool {
        (&self.ledger).ask(StdTime.recent(), Charge::Retry).is_some()
    }
}

/// A concurrency limit (a bulkhead) without retries: one attempt a call, and none without a place. Clones
/// are one limit.
///
/// ```
/// use stagger::concurrency::ConcurrencyPlan;
/// use stagger::{ConcurrencyLimit, Stop};
/// let reports = ConcurrencyLimit::new(ConcurrencyPlan::new(1)?);
/// let outer = reports.call_blocking(|| {
///     let inner = reports.call_blocking(|| Ok::<_, &str>("made")).call();
///     Ok::<_, &str>(inner.map_err(|end| end.stop()))
/// });
/// assert_eq!(outer.call().ok(), Some(Err(Stop::ConcurrencyLimited)), "the outer call has the place");
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    retrier: Retrier,
}

impl ConcurrencyLimit {
    /// A limit whose places are free.
    #[must_use]
    pub fn new(plan: ConcurrencyPlan) -> Self {
        Self { retrier: limited(|policy| policy.concurrency_limit(plan)) }
    }

    /// A call of `op`, to be awaited.
    pub fn call<T, E, F, Fut>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Retrier, Plain<F>, T, E, EveryError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.retrier.retry(op).every_error()
    }

    /// A blocking call of `op`, made by [`call`](RetryCall::call).
    pub fn call_blocking<T, E, F>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Retrier, Blocking<Plain<F>>, T, E, EveryError>
    where
        F: FnMut() -> Result<T, E>,
    {
        self.retrier.retry_blocking(op).every_error()
    }
}

/// A rate limit without retries: one attempt a call, at its turn. Clones are one limit.
///
/// ```
/// use stagger::rate_limit::RatePlan;
/// use stagger::{Rate, RateLimit, Span, Stop};
/// let plan = RatePlan::new(Rate::once_every(Span::from_secs(60)), 2)?;
/// let quota = RateLimit::new(plan.with_max_wait(Span::ZERO));
/// let ask = || quota.call_blocking(|| Ok::<_, &str>("asked")).call().map_err(|end| end.stop());
/// assert_eq!([ask(), ask(), ask()], [Ok("asked"), Ok("asked"), Err(Stop::RateLimited)]);
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RateLimit {
    retrier: Retrier,
}

impl RateLimit {
    /// A limit after a quiet time.
    #[must_use]
    pub fn new(plan: RatePlan) -> Self {
        Self { retrier: limited(|policy| policy.rate_limit(plan)) }
    }

    /// A call of `op`, to be awaited.
    pub fn call<T, E, F, Fut>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Retrier, Plain<F>, T, E, EveryError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.retrier.retry(op).every_error()
    }

    /// A blocking call of `op`, made by [`call`](RetryCall::call).
    pub fn call_blocking<T, E, F>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Retrier, Blocking<Plain<F>>, T, E, EveryError>
    where
        F: FnMut() -> Result<T, E>,
    {
        self.retrier.retry_blocking(op).every_error()
    }
}

/// Calls of one attempt under one limit.
fn limited(limit: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Retrier {
    let policy = limit(Policy::builder().max_attempts(1).budget(BudgetPlan::Unlimited)).build();
    // OK because one attempt without times is within the bounds, and so is a plan that exists.
    Retrier::of(policy.unwrap_or_default())
}

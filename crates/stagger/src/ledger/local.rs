//! The ledger of one destination in this process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use stagger_core::adaptive::{AdaptiveReport, Pacing};
use stagger_core::breaker::{Admission, Report, StateKind, Ticket};
use stagger_core::budget::{Charge, Level, Paid, Settled};
use stagger_core::retry::{Entrance, Ledger, LimitPermit};
use stagger_core::{Entropy, Instant, Policy, Span};

use super::adaptive::{AdaptiveStats, LocalAdaptive};
use super::attempt_limits::{ConcurrencyStats, LocalLimits, RateLimitStats};
use super::breaker::LocalBreaker;
use super::budget::LocalBudget;
use super::ledger_shard::KeptLedger;
use super::pause::LocalPause;

/// The budget, the breaker and the limits of one destination, shared by all threads that call it.
///
/// `&LocalLedger` is a [`Ledger`], so an `Arc<LocalLedger>` serves any number of calls at once. It
/// answers as a [`PlainLedger`](stagger_core::retry::PlainLedger) would that one thread asks, with
/// three things to know:
///
/// - **Budget.** At every grant the plan's rule holds for all that was counted before it, whatever
///   the number of threads: never is one retry too many granted, and a refund is never lost. Counting
///   and asking take no lock; a window's turn, once a slot, and a refund to a window do.
/// - **Breaker.** Closed, it takes no lock, and the result that breaks a rule opens it; where a failure
///   and a success come in one instant, the next result may be the one. Results are counted as often
///   as they are reported, so a [`Ticket`] is reported once. A half-open breaker admits exactly as
///   many probes as planned.
/// - **Limits.** A concurrency limit, a rate limit and an adaptive limit take a lock, if the policy has
///   them. A place that becomes free is handed to the attempt that waits longest.
///
/// The first eight threads count successes and first attempts each on a cache line of its own, so
/// calls that go well do not fight for one.
///
/// ```
/// use stagger::engine::budget::Charge;
/// use stagger::engine::Ledger;
/// use stagger::{Instant, LocalLedger, Policy};
/// use std::sync::Arc;
///
/// let ledger = Arc::new(LocalLedger::new(&Policy::default()));
/// let threads: Vec<_> = (0..4)
///     .map(|_| {
///         let ledger = Arc::clone(&ledger);
///         std::thread::spawn(move || {
///             let mut ledger = &*ledger;
///             (0..100).filter(|_| ledger.ask(Instant::ORIGIN, Charge::Retry).is_some()).count()
///         })
///     })
///     .collect();
/// let granted: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
/// assert_eq!(granted, 2, "without first attempts, those in hand at rest");
/// ```
#[derive(Debug)]
pub struct LocalLedger {
    budget: LocalBudget,
    breaker: Option<LocalBreaker>,
    adaptive: LocalAdaptive,
    limits: LocalLimits,
    pause: LocalPause,
    grants: AtomicU64,
    refusals: AtomicU64,
    refunds: AtomicU64,
    breaker_refusals: AtomicU64,
}

/// A ledger's figures at one instant, for metrics and people.
///
/// Each figure is exact, but they are read one after the other while calls go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerStats {
    /// The level of the budget.
    pub level: Level,
    /// Retries and hedges that the budget granted so far.
    pub grants: u64,
    /// Retries and hedges that it refused so far.
    pub refusals: u64,
    /// Grants that were given back so far, because no attempt followed.
    pub refunds: u64,
    /// The state of the breaker, if there is one.
    pub breaker: Option<StateKind>,
    /// The end of the breaker's open time, while it is open.
    pub breaker_until: Option<Instant>,
    /// The breaker's current or next open time, before the upward spread.
    pub breaker_open_time: Option<Span>,
    /// Attempts that the breaker refused so far.
    pub breaker_refusals: u64,
    /// The number of times that the breaker opened so far.
    pub breaker_opened: u64,
    /// The figures of the adaptive limit, if there is one.
    pub adaptive: Option<AdaptiveStats>,
    /// The figures of the concurrency limit, if there is one.
    pub concurrency_limit: Option<ConcurrencyStats>,
    /// The figures of the rate limit, if there is one.
    pub rate_limit: Option<RateLimitStats>,
}

impl LocalLedger {
    /// An empty ledger for the budget, breaker and limits of `policy`.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self {
            budget: LocalBudget::new(*policy.budget()),
            breaker: policy.breaker().copied().map(LocalBreaker::new),
            adaptive: LocalAdaptive::new(policy),
            limits: LocalLimits::new(policy),
            pause: LocalPause::new(),
            grants: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            refunds: AtomicU64::new(0),
            breaker_refusals: AtomicU64::new(0),
        }
    }

    /// Its figures at `now`.
    #[must_use]
    pub fn stats(&self, now: Instant) -> LedgerStats {
        let open_times = self.breaker.as_ref().map(|breaker| breaker.open_times(now));
        LedgerStats {
            level: self.budget.level(now),
            grants: self.grants.load(Ordering::Relaxed),
            refusals: self.refusals.load(Ordering::Relaxed),
            refunds: self.refunds.load(Ordering::Relaxed),
            breaker: self.breaker_state(now),
            breaker_until: open_times.and_then(|(until, _)| until),
            breaker_open_time: open_times.map(|(_, open_time)| open_time),
            breaker_refusals: self.breaker_refusals.load(Ordering::Relaxed),
            breaker_opened: self.breaker_opened(),
            adaptive: self.adaptive.stats(),
            concurrency_limit: self.limits.concurrency(),
            rate_limit: self.limits.rate(),
        }
    }

    /// The number of times that the breaker opened by itself so far: that of its [`stats`](Self::stats), at
    /// the price of one load.
    #[must_use]
    pub fn breaker_opened(&self) -> u64 {
        self.breaker.as_ref().map_or(0, LocalBreaker::opened)
    }

    /// Opens the breaker until `until`, for a ledger that follows a breaker kept elsewhere, or an operator.
    /// Its probes follow; one that fails lengthens `open_time`, as in
    /// [`Breaker::reopened`](stagger_core::breaker::Breaker::reopened). Calls that were admitted before
    /// report in vain. Nothing without a breaker.
    ///
    /// ```
    /// use stagger::breaker::{BreakerPlan, StateKind};
    /// use stagger::{Instant, KeptLedger, LocalLedger, Policy, Span};
    /// let policy = Policy::builder().breaker(BreakerPlan::default()).build()?;
    /// let (ledger, now) = (LocalLedger::new(&policy), Instant::ORIGIN);
    /// ledger.reopen_breaker(now, now + Span::from_secs(9), Span::from_secs(20));
    /// assert_eq!(ledger.stats(now).breaker_until, Some(now + Span::from_secs(9)));
    /// ledger.reclose_breaker(now);
    /// assert_eq!(ledger.breaker_state(now), Some(StateKind::Closed));
    /// # Ok::<(), stagger::ConfigError>(())
    /// ```
    pub fn reopen_breaker(&self, now: Instant, until: Instant, open_time: Span) {
        if let Some(breaker) = &self.breaker {
            breaker.reopen(now, until, open_time);
        }
    }

    /// Closes the breaker as if all its probes had succeeded, with the plan's ramp. Nothing when it is closed.
    pub fn reclose_breaker(&self, now: Instant) {
        if let Some(breaker) = &self.breaker {
            breaker.reclose(now);
        }
    }

    #[cold]
    fn admit_slowly(&self, now: Instant) -> Admission {
        let admission = match &self.breaker {
            Some(breaker) => breaker.admit(now),
            // As the plain ledger: without a breaker no call is refused.
            None => Admission::Admitted(Ticket::NEUTRAL),
        };
        if matches!(admission, Admission::Refused { .. }) {
            count(&self.breaker_refusals);
        }
        admission
    }
}

impl KeptLedger for LocalLedger {
    fn breaker_state(&self, now: Instant) -> Option<StateKind> {
        self.breaker.as_ref().map(|breaker| breaker.state(now))
    }
}

impl Ledger for &LocalLedger {
    #[inline]
    fn on_first(&mut self, now: Instant) {
        self.budget.on_first(now);
    }

    #[inline]
    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        let paid = self.budget.ask(now, charge);
        count(if paid.is_some() { &self.grants } else { &self.refusals });
        paid
    }

    fn level(&mut self, now: Instant) -> Option<Level> {
        Some(self.budget.level(now))
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        // A first attempt that is cancelled gives back the nothing that it paid.
        if paid != Paid::FREE {
            count(&self.refunds);
        }
        self.budget.refund(now, paid);
    }

    #[inline]
    fn on_settled(&mut self, now: Instant, settled: Settled) {
        self.budget.on_settled(now, settled);
    }

    #[inline]
    fn admit(&mut self, now: Instant) -> Admission {
        match self.breaker.as_ref().and_then(|breaker| breaker.admit_closed(now)) {
            Some(ticket) => Admission::Admitted(ticket),
            None => self.admit_slowly(now),
        }
    }

    #[inline]
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        if let Some(breaker) = &self.breaker {
            breaker.report(now, ticket, report, entropy);
        }
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        self.adaptive.ask(now)
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        self.adaptive.settle(now, report);
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        self.limits.enter(now, permit, longest)
    }

    fn leave(&mut self, _: Instant, permit: LimitPermit) {
        self.limits.leave(permit);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        self.limits.watch(permit, waker)
    }

    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        self.pause.extend(until, spread, entropy);
    }

    #[inline]
    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        self.pause.start_of_next(now)
    }
}

/// For metrics only: nothing is decided by it, so it may be seen late.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

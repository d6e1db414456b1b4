//! One destination's concurrency limit and rate limit, asked by many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use stagger_core::retry::{AttemptLimiter, Entrance, LimitPermit};
use stagger_core::{Instant, Policy, Span};

/// The figures of a destination's concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConcurrencyStats {
    /// Attempts that hold a place now.
    pub in_flight: u64,
    /// Attempts that wait for a place now.
    pub queued: u64,
    /// Attempts that had to wait so far.
    pub waits: u64,
    /// Attempts that were refused so far, after a wait included.
    pub refusals: u64,
}

/// The figures of a destination's rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimitStats {
    /// Attempts that had to wait so far.
    pub waits: u64,
    /// Attempts that were refused so far.
    pub refusals: u64,
}

/// The engine's limits behind a lock, held for less time than a call takes to build its request. There
/// are none under a policy without them, which costs its calls nothing.
#[derive(Debug)]
pub(super) struct LocalLimits(Option<Box<CountedLimits>>);

#[derive(Debug)]
struct CountedLimits {
    limiter: Mutex<AttemptLimiter>,
    rate_waits: AtomicU64,
    rate_refusals: AtomicU64,
    place_waits: AtomicU64,
    place_refusals: AtomicU64,
}

impl LocalLimits {
    pub(super) fn new(policy: &Policy) -> Self {
        Self(AttemptLimiter::new(policy).map(|limiter| Box::new(CountedLimits::new(limiter))))
    }

    pub(super) fn enter(&self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        // As without a breaker, none is held back where there is no limit.
        let Some(limits) = &self.0 else { return Entrance::Open };
        let before = *permit;
        let entrance = limits.lock().enter(now, permit, longest);
        limits.count(entrance, *permit != before);
        entrance
    }

    /// Wakes who follows when no lock is held: a waker may run the task that asks next.
    pub(super) fn leave(&self, permit: LimitPermit) {
        let next = self.0.as_ref().and_then(|limits| limits.lock().leave(permit));
        if let Some(waker) = next {
            waker.wake();
        }
    }

    pub(super) fn watch(&self, permit: &LimitPermit, waker: &Waker) -> bool {
        self.0.as_ref().is_none_or(|limits| limits.lock().watch(permit, waker))
    }

    pub(super) fn concurrency(&self) -> Option<ConcurrencyStats> {
        let limits = self.0.as_deref()?;
        let (in_flight, queued) = limits.lock().in_flight()?;
        Some(ConcurrencyStats {
            in_flight: in_flight.into(),
            queued: u64::try_from(queued).unwrap_or(u64::MAX),
            waits: limits.place_waits.load(Ordering::Relaxed),
            refusals: limits.place_refusals.load(Ordering::Relaxed),
        })
    }

    pub(super) fn rate(&self) -> Option<RateLimitStats> {
        let limits = self.0.as_deref()?;
        limits.lock().has_rate().then(|| RateLimitStats {
            waits: limits.rate_waits.load(Ordering::Relaxed),
            refusals: limits.rate_refusals.load(Ordering::Relaxed),
        })
    }
}

impl CountedLimits {
    fn new(limiter: AttemptLimiter) -> Self {
        let zero = || AtomicU64::new(0);
        let (rate_waits, rate_refusals) = (zero(), zero());
        let (place_waits, place_refusals) = (zero(), zero());
        let limiter = Mutex::new(limiter);
        Self { limiter, rate_waits, rate_refusals, place_waits, place_refusals }
    }

    /// Counts an answer. A wait that was known before is not counted again.
    fn count(&self, entrance: Entrance, is_news: bool) {
        let counter = match entrance {
            Entrance::Open => return,
            Entrance::At(_) | Entrance::Queued(_) if !is_news => return,
            Entrance::At(_) => &self.rate_waits,
            Entrance::Queued(_) => &self.place_waits,
            Entrance::RateLimited => &self.rate_refusals,
            Entrance::Full => &self.place_refusals,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, AttemptLimiter> {
        // The engine does not panic, and its limits are whole between two calls.
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

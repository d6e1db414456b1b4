//! One destination's adaptive limit, asked by many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger_core::adaptive::{AdaptiveLimit, AdaptiveReport, Pacing};
use stagger_core::{Instant, Policy};

use crate::OsEntropy;

/// The figures of a destination's adaptive limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdaptiveStats {
    /// Attempts that had to wait so far.
    pub waits: u64,
    /// Attempts that were refused so far.
    pub refusals: u64,
}

/// The engine's limit behind a lock, held for less time than a call takes to build its request. There
/// is none under a policy without a limit, which costs its calls nothing.
#[derive(Debug)]
pub(super) struct LocalAdaptive(Option<Box<CountedLimit>>);

#[derive(Debug)]
struct CountedLimit {
    limit: Mutex<AdaptiveLimit>,
    waits: AtomicU64,
    refusals: AtomicU64,
}

impl LocalAdaptive {
    pub(super) fn new(policy: &Policy) -> Self {
        let counted = |plan| {
            let limit = Mutex::new(AdaptiveLimit::new(plan));
            Box::new(CountedLimit { limit, waits: AtomicU64::new(0), refusals: AtomicU64::new(0) })
        };
        Self(policy.adaptive().copied().map(counted))
    }

    /// Asks for an attempt. As without a breaker, none is held back where there is no limit.
    pub(super) fn ask(&self, now: Instant) -> Pacing {
        let Some(counted) = &self.0 else { return Pacing::After(stagger_core::Span::ZERO) };
        let pacing = counted.lock().ask(now, &mut OsEntropy);
        match pacing {
            Pacing::After(wait) if wait.is_zero() => {}
            Pacing::After(_) => _ = counted.waits.fetch_add(1, Ordering::Relaxed),
            Pacing::Refused => _ = counted.refusals.fetch_add(1, Ordering::Relaxed),
        }
        pacing
    }

    pub(super) fn settle(&self, now: Instant, report: AdaptiveReport) {
        if let Some(counted) = &self.0 {
            counted.lock().settle(now, report);
        }
    }

    pub(super) fn stats(&self) -> Option<AdaptiveStats> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let stats = |it: &CountedLimit| AdaptiveStats {
            waits: read(&it.waits),
            refusals: read(&it.refusals),
        };
        self.0.as_deref().map(stats)
    }
}

impl CountedLimit {
    fn lock(&self) -> MutexGuard<'_, AdaptiveLimit> {
        // The engine does not panic, and its limit is whole between two calls.
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

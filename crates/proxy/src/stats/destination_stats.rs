//! Counters of one destination: calls, attempts, replies and ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::StatusCode;

/// The place of an attempt in its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptCopy {
    /// The first.
    First,
    /// One after another that failed.
    Retry,
    /// One beside another that is slow.
    Hedge,
}

/// Counts what happens at one destination. Nothing is decided by it.
#[derive(Debug, Default)]
pub(crate) struct DestinationStats {
    calls: AtomicU64,
    attempts: AtomicU64,
    retries: AtomicU64,
    hedges: AtomicU64,
    succeeded: AtomicU64,
    /// Attempts that brought no reply.
    errors: AtomicU64,
    /// Replies by the first digit of their status, from 1.
    replies: [AtomicU64; 5],
    /// Calls that did not succeed, by the stop reason.
    stops: Mutex<BTreeMap<&'static str, u64>>,
}

impl DestinationStats {
    /// A call begins.
    pub(crate) fn call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// An attempt is sent.
    pub(crate) fn attempt(&self, copy: AttemptCopy) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        match copy {
            AttemptCopy::First => {}
            AttemptCopy::Retry => _ = self.retries.fetch_add(1, Ordering::Relaxed),
            AttemptCopy::Hedge => _ = self.hedges.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// An attempt was answered.
    pub(crate) fn reply(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(replies) = self.replies.get(class) {
            replies.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// An attempt failed without a reply.
    pub(crate) fn error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// A call succeeded.
    pub(crate) fn success(&self) {
        self.succeeded.fetch_add(1, Ordering::Relaxed);
    }

    /// A call ended for this reason.
    pub(crate) fn stop(&self, stop: &'static str) {
        *self.stops().entry(stop).or_default() += 1;
    }

    /// Calls, attempts, calls that succeeded, and attempts without a reply.
    pub(crate) fn totals(&self) -> [u64; 4] {
        [&self.calls, &self.attempts, &self.succeeded, &self.errors]
            .map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Attempts after the first ones: retries and hedges.
    pub(crate) fn copies(&self) -> [u64; 2] {
        [&self.retries, &self.hedges].map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Replies by the first digit of their status, from 1.
    pub(crate) fn replies(&self) -> [u64; 5] {
        self.replies.each_ref().map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Ends of calls by their stop reasons.
    pub(crate) fn all_stops(&self) -> BTreeMap<&'static str, u64> {
        self.stops().clone()
    }

    fn stops(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

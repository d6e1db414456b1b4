//! The leased permits that a process holds, taken by many threads.

use super::sync::{AtomicU64, Ordering};

/// One word. A permit is taken once, or goes back once, in whatever order threads come.
#[derive(Debug)]
pub(super) struct Permits(AtomicU64);

impl Permits {
    /// None.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Takes so many at once, or none; how many are left then.
    #[inline]
    pub(super) fn take(&self, count: u64) -> Option<u64> {
        let taken = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |permits| {
            permits.checked_sub(count)
        });
        taken.ok().map(|before| before - count)
    }

    /// Takes all that are left.
    pub(super) fn take_all(&self) -> u64 {
        self.0.swap(0, Ordering::AcqRel)
    }

    /// Puts down what was leased, or given back.
    pub(super) fn put(&self, count: u64) {
        self.0.fetch_add(count, Ordering::AcqRel);
    }

    /// Their number.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

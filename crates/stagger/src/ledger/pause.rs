//! The pause of one destination, for all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger_core::hint::DestinationPause;
use stagger_core::{Entropy, Instant, Span};

/// A [`DestinationPause`] that takes no lock while there is none.
#[derive(Debug)]
pub(super) struct LocalPause {
    /// The end of the pause, in nanoseconds from the clock's origin.
    until: AtomicU64,
    pause: Mutex<DestinationPause>,
}

impl LocalPause {
    pub(super) const fn new() -> Self {
        Self { until: AtomicU64::new(0), pause: Mutex::new(DestinationPause::NONE) }
    }

    #[cold]
    pub(super) fn extend(&self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        let mut pause = self.lock();
        pause.extend(until, spread, entropy.next_u64());
        self.until.store(pause.until().as_nanos(), Ordering::Release);
    }

    #[inline]
    pub(super) fn start_of_next(&self, now: Instant) -> Option<Instant> {
        if now.as_nanos() >= self.until.load(Ordering::Acquire) {
            return None;
        }
        self.lock().start_of_next(now)
    }

    fn lock(&self) -> MutexGuard<'_, DestinationPause> {
        // Plain data, which is whole between two statements.
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

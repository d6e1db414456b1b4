//! The signal by which calls wake the task that talks with the store.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Wakes one task; rung by many calls, of which the first is enough.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: AtomicBool,
    wake: Notify,
}

impl Bell {
    /// A load, and nothing more, unless it is the first since the task looked. A processor may let a
    /// call miss that the task has just looked; then the next call wakes it.
    #[inline]
    pub(super) fn ring_once(&self) {
        if !self.rung.load(Ordering::Relaxed) {
            self.ring();
        }
    }

    /// Wakes the task, whether it has looked or not.
    pub(super) fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Whether there was a call since the task looked.
    pub(super) fn is_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst)
    }

    /// The task has looked.
    pub(super) fn looked(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }

    /// Ready when it rings.
    pub(super) async fn heard(&self) {
        self.wake.notified().await;
    }
}

//! The signal by which calls wake the task that talks with the store.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Wakes one task. Many calls notify it, of which the first is enough.
#[derive(Debug, Default)]
pub(super) struct TaskNotify {
    pending: AtomicBool,
    wake: Notify,
}

impl TaskNotify {
    /// A load, and nothing more, unless it is the first since the task looked. A processor may let a
    /// call miss that the task has just looked; then the next call wakes it.
    #[inline]
    pub(super) fn notify_once(&self) {
        if !self.pending.load(Ordering::Relaxed) {
            self.notify();
        }
    }

    /// Wakes the task, whether it has looked or not.
    pub(super) fn notify(&self) {
        self.pending.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Whether there was a call since the task looked.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::SeqCst)
    }

    /// The task has looked.
    pub(super) fn looked(&self) {
        self.pending.store(false, Ordering::SeqCst);
    }

    /// Ready when the task is notified.
    pub(super) async fn notified(&self) {
        self.wake.notified().await;
    }
}

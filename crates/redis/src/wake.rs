//! The signal by which calls wake the task that talks to the store.

use std::sync::atomic::{AtomicBool, Ordering};

use stagger::{Clock, Instant, TokioTime};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Wakes one task. Many calls signal it; the first since the task looked is enough.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    pending: AtomicBool,
    urgent: AtomicBool,
    closed: AtomicBool,
    notify: Notify,
}

impl Wake {
    /// There is something to report, which has time.
    #[inline]
    pub(crate) fn note(&self) {
        self.once(&self.pending);
    }

    /// There is something to request without delay, which the task learns once.
    #[inline]
    pub(crate) fn urge(&self) {
        self.once(&self.urgent);
    }

    /// Wakes the task, whether it has looked or not.
    pub(crate) fn wake(&self) {
        self.pending.store(true, Ordering::SeqCst);
        self.notify.notify_one();
    }

    /// Ends the task, after its last request.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether there was a call since the task looked.
    pub(crate) fn is_called(&self) -> bool {
        self.pending.load(Ordering::SeqCst) || self.urgent.load(Ordering::SeqCst)
    }

    /// The task has looked: from here on a call wakes it again.
    pub(crate) fn looked(&self) {
        self.pending.store(false, Ordering::SeqCst);
        self.urgent.store(false, Ordering::SeqCst);
    }

    /// Ready when a call, or the end, wants the task to look.
    pub(crate) async fn woken(&self) {
        self.notify.notified().await;
    }

    /// Ready at `at`, or when the task is woken before.
    pub(crate) async fn woken_or_at(&self, at: Instant) {
        // Woken or not, the task looks again.
        let _ = timeout((at - TokioTime.now()).to_duration(), self.woken()).await;
    }

    /// Ready at `at`, whatever calls want, or at the end.
    pub(crate) async fn closed_or_at(&self, at: Instant) {
        while !self.is_closed() && TokioTime.now() < at {
            self.woken_or_at(at).await;
        }
    }

    /// A load, and nothing more, unless it is the first since the task looked. A processor may let a
    /// call miss that the task has just looked; then the next call wakes it.
    #[inline]
    fn once(&self, flag: &AtomicBool) {
        if !flag.load(Ordering::Relaxed) && !flag.swap(true, Ordering::SeqCst) {
            self.notify.notify_one();
        }
    }
}

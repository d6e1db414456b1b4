//! The handle that ends a blocking call from another thread.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Wake, Waker};

use stagger_core::Span;

/// Ends blocking calls: the wait under way ends at once, and no further attempt is made.
///
/// Clones are one handle. Once cancelled it stays so. An attempt that is running is not interrupted;
/// its result still counts when it is a success.
///
/// ```
/// use stagger::Cancel;
/// let cancel = Cancel::new();
/// let elsewhere = cancel.clone();
/// std::thread::spawn(move || elsewhere.cancel()).join().expect("nothing panics");
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    state: Arc<CancelState>,
}

#[derive(Debug, Default)]
struct CancelState {
    cancelled: Mutex<bool>,
    changed: Condvar,
}

impl Cancel {
    /// A handle that was not used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every call that was given this handle.
    pub fn cancel(&self) {
        self.state.cancel();
    }

    /// Whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.state.cancelled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A waker that uses this handle, for a thread that waits for a turn.
    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.state))
    }

    /// Returns after `span`, or when cancelled.
    pub(crate) fn wait(&self, span: Span) {
        let cancelled = self.state.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.state.changed.wait_timeout_while(cancelled, span.to_duration(), |over| !*over);
        drop(waited);
    }
}

impl CancelState {
    fn cancel(&self) {
        *self.cancelled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

impl Wake for CancelState {
    fn wake(self: Arc<Self>) {
        self.cancel();
    }
}

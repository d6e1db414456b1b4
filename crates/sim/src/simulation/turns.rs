//! Calls that wait for a place by a concurrency limit, and those whose turn has come.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use stagger_core::Policy;

use super::slab::CallIdentity;

/// The second word of a wake-up that is for a call in the queue of its limit.
pub(super) const QUEUED: u64 = 1;

/// The calls whose turn has come since the last look, by id and slot, in the order of their turns.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(Arc<Mutex<Vec<(u32, u32)>>>);

/// One call in the queue.
struct QueuedCall {
    call: (u32, u32),
    turns: Turns,
}

impl Turns {
    pub(super) fn waker(&self, who: &CallIdentity) -> Waker {
        Waker::from(Arc::new(QueuedCall { call: (who.id, who.slot), turns: self.clone() }))
    }

    /// Takes the calls whose turn has come.
    pub(super) fn take(&self) -> Vec<(u32, u32)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u32, u32)>> {
        // A simulation runs on one thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for QueuedCall {
    fn wake(self: Arc<Self>) {
        self.turns.lock().push(self.call);
    }
}

/// Whether calls under this policy may wait in a queue.
pub(super) fn may_queue(policy: &Policy) -> bool {
    policy.concurrency_limit().is_some_and(|plan| plan.max_queued() > 0)
}

//! The permission of an attempt to write its request, and whether it has.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use stagger_scheduler::model::AttemptFailure;

use crate::send_failure::SendFailure;

/// The permission of one attempt to write its request, and whether it has used it.
///
/// It can be read after the attempt was dropped in the middle.
#[derive(Default)]
pub struct Written {
    yes: AtomicBool,
    permission: Option<Permission>,
}

type Permission = Box<dyn Fn() -> bool + Send + Sync>;

impl Written {
    /// An attempt that asks `permission` right before its request is written, and is not made where
    /// that answers false: the lease of its node may have ended while it connected.
    #[must_use]
    pub fn permitted_by(permission: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { yes: AtomicBool::new(false), permission: Some(Box::new(permission)) }
    }

    /// Called before the first byte of a request is handed to its connection.
    ///
    /// # Errors
    /// The lease of the node has ended: the attempt must not be made.
    pub fn begin(&self) -> Result<(), SendFailure> {
        if self.permission.as_ref().is_some_and(|permission| !permission()) {
            return Err(SendFailure::new(
                AttemptFailure::Stopped,
                "the lease of the node has ended",
            ));
        }
        self.set(true);
        Ok(())
    }

    // Relaxed, because the attempt and the later reader are one task.
    pub(crate) fn set(&self, yes: bool) {
        self.yes.store(yes, Ordering::Relaxed);
    }

    /// Whether the receiver may have seen a part of the request.
    #[must_use]
    pub fn get(&self) -> bool {
        self.yes.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").field("yes", &self.yes).finish_non_exhaustive()
    }
}

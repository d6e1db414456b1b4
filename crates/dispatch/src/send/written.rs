//! Whether the receiver may have seen a request.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set before the first byte of a request is handed to its connection, and readable when the attempt was
/// dropped in the middle.
#[derive(Debug, Default)]
pub(crate) struct Written(AtomicBool);

impl Written {
    // Relaxed, because the attempt and the later reader are one task.
    pub(super) fn set(&self, yes: bool) {
        self.0.store(yes, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

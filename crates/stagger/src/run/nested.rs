//! The mark of a running attempt, so that policies inside policies do not multiply.
//!
//! The mark is the thread's, and set only while the attempt's future is polled: so it is the
//! task's without knowing the runtime. Work that an attempt spawns elsewhere is not marked.

use std::cell::Cell;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this code runs inside an attempt.
#[inline]
pub(super) fn is_inside() -> bool {
    INSIDE.get()
}

/// Marks the thread until dropped, by a panic too.
#[must_use]
pub(crate) struct Inside {
    before: bool,
}

impl Inside {
    #[inline]
    pub(crate) fn enter() -> Self {
        Self { before: INSIDE.replace(true) }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}

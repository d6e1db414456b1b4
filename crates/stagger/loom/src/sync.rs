//! The atomics of the ledgers, as loom makes them.

use std::cell::Cell;

pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
pub(super) use loom::sync::{Mutex, MutexGuard};
pub(super) use std::sync::PoisonError;

/// As few as can differ.
pub(super) const LANES: usize = 2;

loom::thread_local! {
    static LANE: Cell<Option<usize>> = Cell::new(None);
}

/// None, unless the model has given it one.
pub(super) fn lane() -> Option<usize> {
    LANE.with(Cell::get)
}

/// Gives this thread a lane.
pub(super) fn take_lane(lane: usize) {
    LANE.with(|mine| mine.set(Some(lane)));
}

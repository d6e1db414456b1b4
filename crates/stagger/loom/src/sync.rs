//! The atomics of the ledgers, as loom makes them.

use std::cell::Cell;

pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
pub(super) use loom::sync::{Mutex, MutexGuard};
pub(super) use std::sync::PoisonError;

/// As few as can differ.
pub(super) const STRIPES: usize = 2;

loom::thread_local! {
    static STRIPE: Cell<Option<usize>> = Cell::new(None);
}

/// None, unless the model has given it one.
pub(super) fn stripe() -> Option<usize> {
    STRIPE.with(Cell::get)
}

/// Gives this thread a stripe.
pub(super) fn take_stripe(stripe: usize) {
    STRIPE.with(|mine| mine.set(Some(stripe)));
}

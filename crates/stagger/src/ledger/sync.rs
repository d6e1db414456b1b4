//! The atomics of the ledgers; the loom build brings its own file in place of this one.

pub(super) use super::stripe::{STRIPES, stripe};
pub(super) use std::sync::atomic::{AtomicU64, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};

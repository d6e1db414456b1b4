//! What the ledgers share memory with, as loom makes it.

pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
pub(super) use loom::sync::{Mutex, MutexGuard};
pub(super) use std::sync::PoisonError;

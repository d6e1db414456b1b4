//! The atomics of the permits; the loom build brings its own file in place of this one.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

//! Batches: many items in one request, each with a fate of its own.
//!
//! A reply that did half of the work is neither a success nor a failure. Only what is left is sent
//! again, and only rounds that did nothing count against the attempts: an attempt that did part of
//! the work is [`Outcome::with_progress`](crate::Outcome::with_progress).

mod drive;
mod end;
mod pending;

pub use drive::{Batched, BlockingBatch};
pub use end::Batch;

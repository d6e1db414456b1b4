//! The measurements of a run: counts in buckets of time, latencies, recovery.

mod meter;
mod recovering;

pub use meter::{BUCKET, KEPT_BUCKETS, Latency, MeterCounts, Strip};
pub(crate) use meter::{Meter, PER_SECOND, Track};
pub use recovering::FirstTries;
pub(crate) use recovering::Recovering;

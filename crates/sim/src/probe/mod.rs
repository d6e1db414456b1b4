//! The measurements of a run: counts in buckets of time, latencies, recovery.

mod drained;
mod first_tries;
mod latency;
mod meter;
mod recovering;
mod strip;
mod track;

pub use first_tries::FirstTries;
pub use latency::Latency;
pub use meter::{BUCKET, KEPT_BUCKETS, MeterCounts};
pub(crate) use meter::{Meter, PER_SECOND};
pub(crate) use recovering::Recovering;
pub use strip::Strip;
pub(crate) use track::Track;

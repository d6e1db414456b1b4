//! Adaptive limits that also cover first attempts: client-side throttling and CUBIC.
//!
//! [`ClientThrottle`] refuses a share of the calls by itself while the backend refuses most of
//! them. [`CubicLimiter`] paces calls to the rate at which the backend stops throttling them.

mod cubic;
mod limit;
mod throttle;

pub use cubic::{CubicLimiter, CubicRate};
pub use limit::{AdaptiveLimit, AdaptivePlan, AdaptiveReport, Pacing};
pub use throttle::{ClientThrottle, ClientThrottlePlan};

#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod adaptive;
mod backoff;
pub mod breaker;
pub mod budget;
pub mod classify;
pub mod concurrency;
mod entropy;
mod error;
mod factor;
pub mod hedge;
pub mod hint;
mod jitter;
mod limits;
mod outcome;
mod policy;
mod rate;
pub mod rate_limit;
mod ratio;
pub mod retry;
mod slots;
mod span_text;
mod time;

pub use backoff::{Backoff, Envelope};
pub use entropy::Entropy;
pub use error::ConfigError;
pub use factor::Factor;
pub use jitter::Jitter;
pub use limits::Limits;
pub use outcome::{Cause, Hint, Outcome, Remedy, Verdict};
#[cfg(feature = "serde")]
pub use policy::service_config;
pub use policy::{HintRule, HintScope, LongHint, Policy, PolicyBuilder};
pub use rate::Rate;
pub use ratio::Ratio;
pub use span_text::ParseSpanError;
pub use time::{Instant, Span};

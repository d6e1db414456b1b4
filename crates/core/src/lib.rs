#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod adaptive;
pub mod breaker;
pub mod budget;
pub mod classify;
mod entropy;
mod error;
pub mod hedge;
pub mod hint;
mod outcome;
mod ratio;
mod span_text;
mod time;

pub use entropy::Entropy;
pub use error::ConfigError;
pub use outcome::{Cause, Hint, Outcome, Remedy, Verdict};
pub use ratio::Ratio;
pub use span_text::ParseSpanError;
pub use time::{Instant, Span};

//! The executors: a policy, the time and an operation made into calls.
//!
//! The drivers only poll and wait; what follows an attempt is the engine's `Session` to say.

mod active_call;
mod asynch;
mod attempt;
mod attempt_source;
mod batch;
mod blocking;
mod call;
mod call_record;
mod chance;
mod classifier;
mod classify;
mod clock_precision;
mod context;
mod error;
mod hedged;
mod history;
mod lending;
mod nested;
mod poll_call;
mod report;
mod retrier;

pub use attempt::{AttemptEnd, AttemptInfo, NextStep};
pub use batch::Batch;
pub use call::Run;
pub use classifier::{ByError, ByResult, ByType, Classifier, RetryIf};
pub use classify::Classify;
pub use context::ContextGuard;
pub use error::Error;
pub use history::{History, SettledAttempt};
pub use report::CallReport;
pub use retrier::Retrier;

#[cfg(feature = "tower")]
pub(crate) use active_call::ActiveCall;
#[cfg(feature = "tower")]
pub(crate) use attempt_source::{AttemptEvent, AttemptSource};
#[cfg(feature = "http")]
pub(crate) use classify::TIMED_OUT;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use classify::UNKNOWN;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use error::BoxError;
#[cfg(feature = "tower")]
pub(crate) use nested::Inside;
#[cfg(feature = "tower")]
pub(crate) use poll_call::{CallDriver, CallFuture};

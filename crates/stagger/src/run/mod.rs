//! The executors: a policy, the time and an operation made into calls.
//!
//! The drivers only poll and wait; what follows an attempt is the engine's `Session` to say.

mod asynch;
mod attempt;
mod batch;
mod blocking;
mod call;
mod call_guard;
mod call_record;
mod cancel;
mod chance;
mod classifier;
mod classify;
mod clock_precision;
mod context;
mod copies;
mod end;
mod error;
mod first_attempt;
mod hedged;
mod history;
mod nested;
#[cfg(feature = "tower")]
mod owned_call;
mod report;
mod retrier;
mod wait;
mod watch;

pub use attempt::AttemptInfo;
pub use batch::Batch;
pub use call::Run;
pub use cancel::Cancel;
pub use classifier::{ByError, ByResult, ByType, Classifier, RetryIf};
pub use classify::Classify;
pub use context::ContextGuard;
pub use end::{AttemptEnd, NextStep};
pub use error::Error;
pub use history::{History, SettledAttempt};
pub use report::CallReport;
pub use retrier::Retrier;

#[cfg(feature = "tower")]
pub(crate) use call_guard::Next;
#[cfg(feature = "tower")]
pub(crate) use call_record::CallRecord;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use classify::TIMED_OUT;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use classify::UNKNOWN;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use error::BoxError;
#[cfg(feature = "tower")]
pub(crate) use nested::Inside;
#[cfg(feature = "tower")]
pub(crate) use owned_call::OwnedCall;
#[cfg(feature = "tower")]
pub(crate) use wait::Timer;

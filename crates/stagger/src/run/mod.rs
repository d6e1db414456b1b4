//! The executors: a policy, the time and an operation made into calls.
//!
//! The drivers only poll and wait; what follows an attempt is the engine's `Session` to say.

mod active_call;
mod alone;
mod asynch;
mod attempt;
mod attempt_source;
mod batch;
mod blocking;
mod blocking_driver;
mod call_context;
mod call_record;
mod call_site;
mod call_state;
mod chance;
mod classifier;
mod clock_precision;
mod context;
mod driver_state;
mod error;
mod hedged;
mod history;
mod nested;
mod operation;
mod poll_call;
mod poll_hedged;
mod retrier;
mod retrier_plan;
mod retry_call;

pub use alone::{Breaker, Budget, ConcurrencyLimit, EveryError, RateLimit};
pub use asynch::RetryFuture;
pub use attempt::{AttemptEnd, AttemptInfo, NextStep};
pub use batch::{Batch, Batched, BlockingBatch};
pub use blocking::Blocking;
pub use call_context::CallContext;
pub use call_site::{
    CallSite, Retried, Retryable, RetryableBlocking, SiteRetrier, SiteTime, context, retry,
    retry_blocking,
};
pub use classifier::{
    ByError, ByResult, ByType, Classifier, Classify, Notify, RetryAfter, RetryIf,
};
pub use context::ContextGuard;
pub use error::{AttemptTimeout, Error};
pub use hedged::Hedged;
pub use history::{CallReport, History, SettledAttempt};
pub use operation::{BlockingOperation, InContext, Independent, Informed, Operation, Plain};
pub use retrier::Retrier;
pub use retry_call::{Destination, RetryCall};

#[cfg(feature = "tower")]
pub(crate) use active_call::ActiveCall;
#[cfg(feature = "tower")]
pub(crate) use attempt_source::AttemptSource;
#[cfg(feature = "http")]
pub(crate) use classifier::TIMED_OUT;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use classifier::UNKNOWN;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use error::BoxError;
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) use nested::Inside;
#[cfg(feature = "tower")]
pub(crate) use poll_call::CallFuture;

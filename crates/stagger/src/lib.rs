#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod cancel;
mod clock;
pub mod engine;
#[cfg(feature = "http")]
pub mod http;
mod ledger;
pub mod observe;
mod poll;
mod redelivery;
#[cfg(feature = "reqwest")]
pub mod reqwest;
mod rng;
mod run;
#[cfg(feature = "tonic")]
pub mod tonic;
#[cfg(feature = "tower")]
pub mod tower;

pub use cancel::Cancel;
pub use clock::{Clock, Pause, Sleep, StdTime, TokioTime};
pub use ledger::{
    AdaptiveStats, ConcurrencyStats, KeptLedger, LedgerStats, Ledgers, LocalLedger, RateLimitStats,
};
pub use poll::{PollError, PollStop, Poller, Progress};
pub use redelivery::{NextDelivery, Received, Redelivery};
pub use rng::{OsEntropy, Rng};
pub use run::{
    AttemptEnd, AttemptInfo, AttemptTimeout, Batch, Breaker, Budget, CallReport, Classifier,
    Classify, ConcurrencyLimit, ContextGuard, Error, History, NextStep, RateLimit, Retrier,
    RetryCall, Retryable, RetryableBlocking, SettledAttempt, context, retry, retry_blocking,
};
#[doc(inline)]
pub use stagger_core::retry::{Done, Reconnect, Stop};
#[cfg(feature = "serde")]
#[doc(inline)]
pub use stagger_core::service_config;
#[doc(inline)]
pub use stagger_core::{
    Backoff, Cause, ConfigError, Entropy, Envelope, Factor, Hint, HintRule, HintScope, Instant,
    Jitter, Limits, LongHint, Outcome, ParseSpanError, Policy, PolicyBuilder, Rate, Ratio, Remedy,
    Span, Verdict,
};
/// Retries the body of a function, async or blocking: the call that [`retry`](fn@retry) makes, in an attribute.
///
/// | setting | value | left out |
/// | --- | --- | --- |
/// | `policy` | a ready policy by name, as `"interactive"`, or an expression of the type [`Policy`] | [`Policy::default`] |
/// | `retrier` | an expression that derefs to a [`Retrier`], whose policy and budget hold | a budget for the function |
/// | `when` | a function or closure from `&E` to `bool`: the errors that are worth another attempt | the error type says so, by [`Classify`] |
///
/// The body returns `Result<T, E>`, and the function `Result<T, stagger::Error<E>>`, because a call may end without an
/// error of the body. The body runs once an attempt, so it borrows the arguments and does not consume them.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// #[derive(Debug)]
/// enum Fault { Busy, Gone }
/// impl Fault {
///     fn is_busy(&self) -> bool { matches!(self, Fault::Busy) }
/// }
/// #[stagger::retry(policy = "interactive", when = Fault::is_busy)]
/// async fn stock(item: &str) -> Result<u32, stagger::Error<Fault>> {
///     if item == "bolt" { Err(Fault::Busy) } else { Err(Fault::Gone) }
/// }
/// assert_eq!(stock("bolt").await.map_err(|error| error.attempts()), Err(3));
/// assert_eq!(stock("nut").await.map_err(|error| error.attempts()), Err(1));
/// # Ok(()) })}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
///
/// A name that is no ready policy does not compile, nor a setting that is none, nor a return type without the call's end:
///
/// ```compile_fail
/// #[stagger::retry(policy = "interactiv")]
/// fn stock() -> Result<u32, stagger::Error<std::io::Error>> { Ok(7) }
/// ```
/// ```compile_fail
/// #[stagger::retry(attempts = 3)]
/// fn stock() -> Result<u32, stagger::Error<std::io::Error>> { Ok(7) }
/// ```
/// ```compile_fail,E0277
/// #[stagger::retry]
/// fn stock() -> Result<u32, std::io::Error> { Ok(7) }
/// ```
/// ```
/// #[stagger::retry]
/// fn stock() -> Result<u32, stagger::Error<std::io::Error>> { Ok(7) }
/// assert_eq!(stock().ok(), Some(7));
/// ```
#[cfg(feature = "macros")]
pub use stagger_macros::retry;

/// Plans of limits that also cover first attempts: client-side throttling and CUBIC.
pub mod adaptive {
    #[doc(inline)]
    pub use stagger_core::adaptive::{AdaptivePlan, AdaptiveReport, ClientThrottlePlan, Pacing};
}

/// The types that the signatures of calls name: kinds of operations, of classifiers and of destinations.
pub mod call {
    pub use crate::run::{
        Batched, Blocking, BlockingBatch, BlockingOperation, ByError, ByResult, ByType,
        CallContext, CallSite, Destination, EveryError, Hedged, InContext, Independent, Informed,
        Notify, Operation, Plain, Retried, RetryAfter, RetryFuture, RetryIf, SiteRetrier, SiteTime,
    };
}

/// Plans of breakers: when a destination may not be called at all, and when it is probed.
pub mod breaker {
    #[doc(inline)]
    pub use stagger_core::breaker::{
        BreakerPlan, BreakerPlanBuilder, Counts, Report, StateKind, Trip, WindowKind,
    };
}

/// Plans of budgets: how many retries a destination may get.
///
/// | plan | rule |
/// | --- | --- |
/// | [`WindowPlan`](budget::WindowPlan) (default) | a share of the first attempts of the last seconds, plus a floor |
/// | [`TokenPlan`](budget::TokenPlan) | the AWS bucket: retries cost tokens, successes bring them back |
/// | [`ThrottlePlan`](budget::ThrottlePlan) | gRPC (gRFC A6): no retries while failures outweigh successes |
/// | [`IntervalPlan`](budget::IntervalPlan) | at most n retries in any interval |
/// | [`BudgetPlan::Unlimited`](budget::BudgetPlan::Unlimited), [`BudgetPlan::None`](budget::BudgetPlan::None) | always, never |
pub mod budget {
    #[doc(inline)]
    pub use stagger_core::budget::{
        BudgetPlan, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan,
    };
}

/// The meaning of HTTP statuses, gRPC codes and transport errors.
pub mod classify {
    #[doc(inline)]
    pub use stagger_core::classify::{
        Code, CodeSet, HttpReply, HttpRules, MAX_SOURCE_DEPTH, TransportRules, UnknownCode,
        classify_error, classify_grpc, classify_io, is_idempotent, read_should_retry, sources,
    };
}

/// Plans of concurrency limits (bulkheads): how many attempts may be in flight to a destination.
pub mod concurrency {
    #[doc(inline)]
    pub use stagger_core::concurrency::ConcurrencyPlan;
}

/// Plans of hedges: when a further copy of a slow call is made.
pub mod hedge {
    #[doc(inline)]
    pub use stagger_core::hedge::HedgePlan;
}

/// Hints of servers, read from the text of their headers and from the details of gRPC errors.
pub mod hint {
    #[doc(inline)]
    pub use stagger_core::hint::{
        HintReader, RateLimit, RateLimitPolicy, ResetHeader, ResetMeaning, WallTime, http_date,
        pushback, rate_limit_hint, rate_limit_reset, retry_after, retry_after_ms, retry_delay,
        retry_info, status_details, structured,
    };
}

/// Plans of rate limits: how many attempts a second may start to a destination.
pub mod rate_limit {
    #[doc(inline)]
    pub use stagger_core::rate_limit::RatePlan;
}

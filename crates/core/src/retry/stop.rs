//! Why a call ended, and what it took.

use core::fmt;

use crate::time::Span;

/// Why no further attempt is made. The first "no" of the settling order is the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// The call succeeded.
    Succeeded,
    /// The caller gave up.
    Cancelled,
    /// The outcome will not heal.
    Permanent,
    /// The server may have acted on the call, and it is not idempotent.
    NotIdempotent,
    /// The request cannot be sent again with equal bytes.
    NotReplayable,
    /// The server said not to come back.
    HintForbids,
    /// The server's hint is longer than the longest one that is waited for.
    HintTooLong,
    /// The server's hint ends past the deadline.
    HintPastDeadline,
    /// All attempts are made.
    AttemptsExhausted,
    /// The delay, and the least time for an attempt, do not fit before the deadline.
    DeadlineExceeded,
    /// The destination's budget grants no retry.
    BudgetEmpty,
    /// The destination's breaker admits no call.
    BreakerOpen,
    /// Client-side throttling: the destination's adaptive limit refused the attempt, or would have it
    /// wait past the deadline.
    Throttled,
    /// The policy's concurrency limit has no place for the attempt, or had none in time.
    ConcurrencyLimited,
    /// The policy's rate limit has no start for the attempt that is soon enough.
    RateLimited,
}

impl Stop {
    /// Its name in logs and metrics: one word in snake case that does not change.
    ///
    /// ```
    /// use stagger_core::retry::Stop;
    /// assert_eq!(Stop::AttemptsExhausted.name(), "attempts_exhausted");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Cancelled => "cancelled",
            Self::Permanent => "permanent",
            Self::NotIdempotent => "not_idempotent",
            Self::NotReplayable => "not_replayable",
            Self::HintForbids => "hint_forbids",
            Self::HintTooLong => "hint_too_long",
            Self::HintPastDeadline => "hint_past_deadline",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::BudgetEmpty => "budget_empty",
            Self::BreakerOpen => "breaker_open",
            Self::Throttled => "throttled",
            Self::ConcurrencyLimited => "concurrency_limited",
            Self::RateLimited => "rate_limited",
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Succeeded => "succeeded",
            Self::Cancelled => "cancelled by the caller",
            Self::Permanent => "permanent failure",
            Self::NotIdempotent => "not idempotent",
            Self::NotReplayable => "body not replayable",
            Self::HintForbids => "hint forbids a retry",
            Self::HintTooLong => "hint exceeds the longest wait",
            Self::HintPastDeadline => "hint exceeds the deadline",
            Self::AttemptsExhausted => "attempts exhausted",
            Self::DeadlineExceeded => "deadline exceeded",
            Self::BudgetEmpty => "retry budget empty",
            Self::BreakerOpen => "breaker open",
            Self::Throttled => "client-side throttling",
            Self::ConcurrencyLimited => "concurrency limit reached",
            Self::RateLimited => "rate limit reached",
        })
    }
}

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// Why it ended.
    pub stop: Stop,
    /// Calls made that count: copies included, transparent re-sends not.
    pub attempts: u32,
    /// Time since the call began.
    pub elapsed: Span,
    /// The hint that came with the outcome that ended the call, so that the caller can reschedule.
    pub hint: Option<Span>,
    /// The pause that the caller should make before it returns; zero unless the policy asks for one.
    pub pause: Span,
}

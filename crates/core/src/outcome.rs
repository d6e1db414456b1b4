//! The outcome of one attempt: verdict, cause, hint and remedy as plain data.

use crate::time::Span;

/// The meaning of an attempt's outcome for the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Success.
    Ok,
    /// May heal by itself: a server error, a reset, a timeout. Retried when the call is idempotent.
    Transient,
    /// The server is overloaded or limits us. Retried when the call is idempotent.
    Throttled,
    /// The server cannot have acted on it. Retried whatever the method.
    Unprocessed,
    /// Will not heal. Never retried.
    Permanent,
    /// The caller gave up. Never retried, whatever anybody else says.
    Cancelled,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Ok,
        Self::Transient,
        Self::Throttled,
        Self::Unprocessed,
        Self::Permanent,
        Self::Cancelled,
    ];

    /// Whether a further attempt could make sense at all.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Transient | Self::Throttled | Self::Unprocessed)
    }

    /// Its name in logs and metrics: one word that does not change.
    ///
    /// ```
    /// use stagger_core::Verdict;
    /// assert_eq!(Verdict::Throttled.name(), "throttled");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::Unprocessed => "unprocessed",
            Self::Permanent => "permanent",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The place where an outcome was decided.
///
/// A permanent answer proves that the server lives; a permanent transport error proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The server answered.
    #[default]
    Reply,
    /// No answer within the attempt's time limit. Some budgets charge more for these.
    Timeout,
    /// The connection failed below the protocol: refused, reset, name or certificate errors.
    Transport,
}

impl Cause {
    /// Its name in logs and metrics: one word that does not change.
    ///
    /// ```
    /// use stagger_core::Cause;
    /// assert_eq!(Cause::Timeout.name(), "timeout");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Timeout => "timeout",
            Self::Transport => "transport",
        }
    }
}

/// The server's request about the time, or the end, of further attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// Not sooner than this (Retry-After and its kin): a lower bound for the delay.
    AtLeast(Span),
    /// After exactly this (gRPC pushback, gRFC A6); the backoff starts over afterwards.
    Exactly(Span),
    /// Not at all (gRPC pushback: negative, unreadable or given twice).
    Never,
}

impl Hint {
    /// The span that the server named; none for [`Hint::Never`].
    #[must_use]
    pub const fn span(self) -> Option<Span> {
        match self {
            Self::AtLeast(span) | Self::Exactly(span) => Some(span),
            Self::Never => None,
        }
    }
}

/// A change to the next attempt that heals the failure, worth one try per call.
///
/// Such a try waits for nothing and is free, because the server lives and has not acted on the call. So
/// in any window of time free tries are at most one for each call and remedy: a server that refuses every
/// stream gets twice the calls, whatever the budget says. A refused connection has no remedy, and costs
/// like any retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Remedy {
    /// Use a fresh connection: 421 (RFC 9110 section 15.5.20).
    FreshConnection = 1,
    /// Do not send early data: 425 (RFC 8470 section 5.2).
    WithoutEarlyData = 2,
    /// Refresh the credentials: 401, when a refresh hook is set.
    RefreshAuth = 4,
    /// Just send it again: a refused stream, or a stream above the GOAWAY's last one
    /// (RFC 9113 section 8.7). Not counted as an attempt.
    Transparent = 8,
}

/// Everything the engine wants to know about one settled attempt.
///
/// ```
/// use stagger_core::{Cause, Hint, Outcome, Span, Verdict};
/// let outcome = Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(Span::from_secs(3)));
/// assert_eq!(outcome.cause, Cause::Reply);
/// assert!(outcome.replayable);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The meaning of the outcome.
    pub verdict: Verdict,
    /// The place where it was decided.
    pub cause: Cause,
    /// The server's hint, if it gave a usable one.
    pub hint: Option<Hint>,
    /// The change that would heal it, if there is one.
    pub remedy: Option<Remedy>,
    /// Whether the request can be sent again with equal bytes.
    pub replayable: bool,
    /// Whether part of the work was done, so that the next attempt has less to do.
    pub progress: bool,
    /// Whether a permanent reply is the server's fault: its breaker counts a failure.
    pub server_fault: bool,
}

impl Outcome {
    /// Success.
    pub const OK: Self = Self::new(Verdict::Ok);

    /// An outcome of this verdict, decided by the server's reply, without hint or remedy, replayable.
    #[must_use]
    pub const fn new(verdict: Verdict) -> Self {
        let (hint, remedy) = (None, None);
        Self {
            verdict,
            cause: Cause::Reply,
            hint,
            remedy,
            replayable: true,
            progress: false,
            server_fault: false,
        }
    }

    /// The same outcome, decided by `cause`.
    #[must_use]
    pub const fn with_cause(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    /// The same outcome with the server's hint.
    #[must_use]
    pub const fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The same outcome with a remedy to try once.
    #[must_use]
    pub const fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// The same outcome of an attempt that did part of the work: the attempts are counted anew, and
    /// the delays grow anew. Budget, breaker and deadline hold as for any other failure.
    ///
    /// ```
    /// use stagger_core::{Outcome, Verdict};
    /// let half_of_the_batch = Outcome::new(Verdict::Throttled).with_progress();
    /// assert!(half_of_the_batch.progress);
    /// ```
    #[must_use]
    pub const fn with_progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// The same outcome of a reply that is the server's fault, though it is not retried: the breaker
    /// counts a failure where it would count a permanent reply as a sign of life.
    ///
    /// ```
    /// use stagger_core::breaker::Report;
    /// use stagger_core::{Outcome, Verdict};
    /// let data_loss = Outcome::new(Verdict::Permanent).with_server_fault();
    /// assert_eq!(Report::of(&data_loss), Report::Failure);
    /// ```
    #[must_use]
    pub const fn with_server_fault(mut self) -> Self {
        self.server_fault = true;
        self
    }

    /// The same outcome of a request that cannot be sent again.
    #[must_use]
    pub const fn not_replayable(mut self) -> Self {
        self.replayable = false;
        self
    }
}

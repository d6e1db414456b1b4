//! The end of a call that failed: the real error, unchanged, and why there was no further attempt.

use std::error::Error as StdError;
use std::fmt;

use stagger_core::budget::{BudgetPlan, Level};
use stagger_core::retry::{Done, Stop};
use stagger_core::{Hint, Outcome, Span, Verdict};

use super::classifier::UNKNOWN;
use super::{Classify, History};

/// A call that failed for good.
///
/// It holds the last error of the operation, unchanged, behind [`get_ref`](Self::get_ref) and
/// [`into_inner`](Self::into_inner). There is none when no attempt was made (an open breaker) or when
/// every attempt ran out of its time.
///
/// Its text names the stop reason, that error, and what to change. So that a chain of errors prints each text once,
/// its [`source`](StdError::source) is the source of that error; after an attempt that ran out of its time it is
/// [`AttemptTimeout`].
///
/// ```
/// use stagger::{Policy, Retrier, StdTime, Stop};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let failed = retrier.retry_blocking(|| Err::<(), _>(7)).when(|_| false).call().unwrap_err();
/// assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1));
/// assert!(failed.to_string().starts_with("permanent failure after 1 attempt in "));
/// assert!(failed.to_string().ends_with(": 7"));
/// assert_eq!(failed.into_inner(), Some(7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error<E> {
    // One pointer, so that a result is no larger than the operation's own.
    parts: Box<ErrorParts<E>>,
}

/// The end apart from the error, so that a place that makes a call has no code for it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorParts<E> {
    end: Box<CallEnd>,
    last: Option<E>,
}

/// The end of a call, and the attempts before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallEnd {
    /// None until the call has ended.
    pub(super) done: Option<Done>,
    pub(super) history: History,
    /// Whether the last attempt ran out of its time.
    pub(super) timed_out: bool,
    spent: Option<SpentBudget>,
}

impl CallEnd {
    /// Notes the budget that granted no retry.
    pub(super) fn set_budget(&mut self, plan: &BudgetPlan, level: Level) {
        let window = match plan {
            BudgetPlan::Window(plan) => Some(plan.window()),
            BudgetPlan::Interval(plan) => Some(plan.interval()),
            _ => None,
        };
        self.spent = Some(SpentBudget { level, window });
    }
}

/// The budget that granted no retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpentBudget {
    level: Level,
    /// The time that it looks back on, if it is one that does.
    window: Option<Span>,
}

/// The source of an [`Error`] whose last attempt ran out of its time.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// use stagger::{AttemptTimeout, Policy};
/// use std::{error::Error, future::pending, io};
/// let call = stagger::retry(pending::<io::Result<()>>).policy(Policy::interactive());
/// let failed = call.await.unwrap_err();
/// assert!(failed.source().is_some_and(|source| source.is::<AttemptTimeout>()));
/// assert!(failed.to_string().ends_with(", the last too slow"), "{failed}");
/// # Ok(()) })}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptTimeout;

impl fmt::Display for AttemptTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer within the time limit of an attempt")
    }
}

impl StdError for AttemptTimeout {}

impl<E> Error<E> {
    /// The error of a call that has ended so.
    pub(super) fn new(end: Box<CallEnd>, last: Option<E>) -> Self {
        Self { parts: Box::new(ErrorParts { end, last }) }
    }

    /// The end of the call, as the engine gave it.
    pub(super) fn done(&self) -> Done {
        self.parts.end.done.expect("an error is made when its call has ended")
    }

    /// The same end with another type of error.
    #[cfg(feature = "tower")]
    pub(crate) fn map<F>(self, change: impl FnOnce(E) -> F) -> Error<F> {
        let ErrorParts { end, last } = *self.parts;
        Error::new(end, last.map(change))
    }

    /// Why no further attempt was made.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.done().stop
    }

    /// Attempts made, copies included.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.done().attempts
    }

    /// Time from the start of the call to its end. A blocking call without deadline starts at the
    /// clock's [recent](crate::Clock::recent) time, so this may be up to 10 ms too long.
    #[must_use]
    pub fn elapsed(&self) -> Span {
        self.done().elapsed
    }

    /// The server's last hint, by which the caller can come back later.
    #[must_use]
    pub fn hint(&self) -> Option<Span> {
        self.done().hint
    }

    /// The history of the attempts.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.parts.end.history
    }

    /// The last error of the operation.
    #[must_use]
    pub fn get_ref(&self) -> Option<&E> {
        self.parts.last.as_ref()
    }

    /// The last error of the operation, unchanged: for callers that go on with an error type of their own. None when no
    /// attempt returned one: the breaker was open, the call was cancelled, or every attempt ran out of its time.
    #[must_use]
    pub fn into_inner(self) -> Option<E> {
        self.parts.last
    }
}

impl<E> Error<E> {
    /// The end without the last error, for those whose source that is.
    pub(crate) fn fmt_end(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (attempts, plural) = match self.attempts() {
            1 => (1, ""),
            several => (several, "s"),
        };
        let (stop, elapsed) = (self.stop(), self.elapsed());
        write!(f, "{stop} after {attempts} attempt{plural} in {elapsed}")?;
        if self.parts.end.timed_out { f.write_str(", the last too slow") } else { Ok(()) }
    }

    /// Writes the advice on what to change, and the server's hint.
    pub(crate) fn fmt_advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(SpentBudget { level: Level { held, capacity, .. }, window }) =
            self.parts.end.spent
        {
            match window {
                Some(window) => {
                    write!(f, "; {capacity} retries in {window} are all it grants now")?;
                }
                None => write!(f, "; {held} of {capacity} left")?,
            }
        }
        if let Some(advice) = advice(self.stop()) {
            write!(f, "; {advice}")?;
        }
        match self.hint() {
            Some(hint) => write!(f, "; the server asks to stay away for {hint}"),
            None => Ok(()),
        }
    }
}

/// The setting or the page that a caller wants who does not like this end.
const fn advice(stop: Stop) -> Option<&'static str> {
    Some(match stop {
        Stop::NotIdempotent => "it may have taken effect; if doing it twice is harmless, say so",
        Stop::NotReplayable => "buffer the body to have it sent again",
        Stop::HintTooLong => "raise `hints.max` to wait longer",
        Stop::HintPastDeadline => "raise `limits.deadline` to wait longer",
        Stop::BudgetEmpty => {
            concat!("see ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guides/budgets.md")
        }
        Stop::BreakerOpen => {
            concat!("see ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guides/breakers.md")
        }
        Stop::ConcurrencyLimited | Stop::RateLimited => {
            concat!("see ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guides/limits.md")
        }
        _ => return None,
    })
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_end(f)?;
        match self.get_ref() {
            Some(error) if self.parts.end.timed_out => write!(f, ", and before that: {error}")?,
            Some(error) => write!(f, ": {error}")?,
            None => {}
        }
        self.fmt_advice(f)
    }
}

/// Any error, as the layers of tower and the bodies of requests pass them on.
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

impl<E: StdError + 'static> StdError for Error<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        if self.parts.end.timed_out { Some(&AttemptTimeout) } else { self.get_ref()?.source() }
    }
}

impl<E> Classify for Error<E> {
    /// The end of an inner call: its last attempt's meaning when only its attempts ran out, else
    /// permanent, because what the inner call refused (an open breaker, an empty budget, a hint) must
    /// not be tried by the outer one.
    fn classify(&self) -> Outcome {
        let last = self.history().last();
        match (self.stop(), last) {
            (Stop::Cancelled, _) => Outcome::new(Verdict::Cancelled),
            (Stop::AttemptsExhausted | Stop::Permanent, Some(last)) => {
                let outcome = Outcome::new(last.verdict).with_cause(last.cause);
                self.hint().map_or(outcome, |span| outcome.with_hint(Hint::AtLeast(span)))
            }
            _ => UNKNOWN,
        }
    }
}

//! The end of a call that failed: the real error, unchanged, and why there was no further attempt.

use std::error::Error as StdError;
use std::fmt;

use stagger_core::retry::{Done, Stop};
use stagger_core::{Hint, Outcome, Span, Verdict};

use super::classify::UNKNOWN;
use super::{Classify, History};

/// A call that failed for good.
///
/// It holds the last error of the operation, unchanged, as [`source`](StdError::source) and behind
/// [`into_inner`](Self::into_inner). There is none when no attempt was made (an open breaker) or when
/// every attempt ran out of its time.
///
/// ```
/// use stagger::{Policy, Retrier, StdTime, retry::Stop};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let failed = retrier.retry_if(|_: &u8| false).run_blocking(|| Err::<(), _>(7)).unwrap_err();
/// assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1));
/// assert!(failed.to_string().starts_with("permanent failure after 1 attempt in "));
/// assert_eq!(failed.into_inner(), Some(7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error<E> {
    // One pointer, so that a result is no larger than the operation's own.
    end: Box<ErrorParts<E>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorParts<E> {
    done: Done,
    history: History,
    last: Option<E>,
}

impl<E> Error<E> {
    pub(super) fn new(done: Done, history: History, last: Option<E>) -> Self {
        Self { end: Box::new(ErrorParts { done, history, last }) }
    }

    /// The same end with another type of error.
    #[cfg(feature = "tower")]
    pub(crate) fn map<F>(self, change: impl FnOnce(E) -> F) -> Error<F> {
        let ErrorParts { done, history, last } = *self.end;
        Error::new(done, history, last.map(change))
    }

    /// Why no further attempt was made.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.end.done.stop
    }

    /// Attempts made, copies included.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.end.done.attempts
    }

    /// Time from the start of the call to its end. A blocking call without deadline starts at the
    /// clock's [recent](crate::Clock::recent) time, so this may be up to 10 ms too long.
    #[must_use]
    pub fn elapsed(&self) -> Span {
        self.end.done.elapsed
    }

    /// The server's last hint, by which the caller can come back later.
    #[must_use]
    pub fn hint(&self) -> Option<Span> {
        self.end.done.hint
    }

    /// The history of the attempts.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.end.history
    }

    /// The last error of the operation.
    #[must_use]
    pub fn get_ref(&self) -> Option<&E> {
        self.end.last.as_ref()
    }

    /// The last error of the operation, unchanged.
    #[must_use]
    pub fn into_inner(self) -> Option<E> {
        self.end.last
    }
}

impl<E> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (attempts, plural) = match self.attempts() {
            1 => (1, ""),
            several => (several, "s"),
        };
        let (stop, elapsed) = (self.stop(), self.elapsed());
        write!(f, "{stop} after {attempts} attempt{plural} in {elapsed}")?;
        match self.hint() {
            Some(hint) => write!(f, "; the server asks to stay away for {hint}"),
            None => Ok(()),
        }
    }
}

/// Any error, as the layers of tower and the bodies of requests pass them on.
#[cfg(any(feature = "http", feature = "tower"))]
pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

impl<E: StdError + 'static> StdError for Error<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.get_ref().map(|error| error as &(dyn StdError + 'static))
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

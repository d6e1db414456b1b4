//! The end of a poll that did not see it ready.

use std::error::Error as StdError;
use std::fmt;

use stagger_core::Span;

/// Why a poll ended before it was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PollStop {
    /// An attempt failed.
    Failed,
    /// All attempts are made.
    AttemptsExhausted,
    /// The delay, or the server's hint, does not end before the deadline, or an attempt ran into it.
    DeadlineExceeded,
    /// The caller gave up.
    Cancelled,
}

impl fmt::Display for PollStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "attempt failed",
            Self::AttemptsExhausted => "attempts exhausted",
            Self::DeadlineExceeded => "deadline exceeded",
            Self::Cancelled => "cancelled by the caller",
        })
    }
}

/// A poll that ended before it was ready.
///
/// ```
/// use stagger::{Backoff, Poller, PollStop, Progress, Span, StdTime};
/// let poller = Poller::new(Backoff::constant(Span::from_millis(1)), Span::from_secs(9), StdTime)?;
/// let looked = poller.max_attempts(2).run_blocking(|| Ok::<_, ()>(Progress::<u8>::NOT_YET));
/// let failed = looked.unwrap_err();
/// assert_eq!((failed.stop(), failed.attempts()), (PollStop::AttemptsExhausted, 2));
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollError<E> {
    pub(super) stop: PollStop,
    pub(super) attempts: u32,
    pub(super) elapsed: Span,
    pub(super) hint: Option<Span>,
    pub(super) error: Option<E>,
}

impl<E> PollError<E> {
    /// Why it ended.
    #[must_use]
    pub const fn stop(&self) -> PollStop {
        self.stop
    }

    /// Attempts made.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Time from the start of the poll to its end.
    #[must_use]
    pub const fn elapsed(&self) -> Span {
        self.elapsed
    }

    /// The server's last hint, by which the caller can come back later.
    #[must_use]
    pub const fn hint(&self) -> Option<Span> {
        self.hint
    }

    /// The error of the attempt that failed; none for the other stop reasons.
    #[must_use]
    pub const fn get_ref(&self) -> Option<&E> {
        self.error.as_ref()
    }

    /// The error of the attempt that failed, unchanged; none for the other stop reasons.
    #[must_use]
    pub fn into_inner(self) -> Option<E> {
        self.error
    }
}

impl<E> fmt::Display for PollError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not ready: {} (attempt {}, {})", self.stop, self.attempts, self.elapsed)
    }
}

impl<E: StdError + 'static> StdError for PollError<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.as_ref().map(|error| error as &(dyn StdError + 'static))
    }
}

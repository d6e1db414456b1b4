//! The report of a call, on success as well as on failure.

use stagger_core::Span;
use stagger_core::retry::{Done, Stop};

use super::History;

/// Filled in by a call that was given it with [`Run::report`](crate::Run::report).
///
/// ```
/// use stagger::{Policy, CallReport, Retrier, StdTime, retry::Stop};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let mut report = CallReport::default();
/// let answer = retrier.retry_if(|_: &()| true).report(&mut report).run_blocking(|| Ok(42));
/// assert!(answer.is_ok());
/// assert_eq!((report.stop(), report.attempts()), (Some(Stop::Succeeded), 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallReport {
    done: Option<Done>,
    history: History,
}

impl CallReport {
    /// Why the call ended; `None` for a call that was dropped, or has not ended.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        self.done.map(|done| done.stop)
    }

    /// Attempts made, copies included.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.done.map_or(0, |done| done.attempts)
    }

    /// Time from the start of the call to its end.
    #[must_use]
    pub fn elapsed(&self) -> Span {
        self.done.map_or(Span::ZERO, |done| done.elapsed)
    }

    /// The server's last hint, when the call ended on that.
    #[must_use]
    pub fn hint(&self) -> Option<Span> {
        self.done.and_then(|done| done.hint)
    }

    /// The history of the attempts.
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// The end of the call, if it has ended.
    #[cfg(feature = "reqwest")]
    pub(crate) const fn done(&self) -> Option<Done> {
        self.done
    }

    pub(super) fn fill(&mut self, done: Done, history: History) {
        *self = Self { done: Some(done), history };
    }
}

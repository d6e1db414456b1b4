//! The history of a call's attempts, and the report of its end.

use stagger_core::retry::{Done, Stop};
use stagger_core::{Cause, Outcome, Span, Verdict};

/// Attempts that are remembered: far more than a sensible policy makes, and a kilobyte at most for
/// one that goes on for hours.
const KEPT: usize = 32;

/// The settled attempts of one call, oldest first; of a long call the last 32.
///
/// ```
/// use stagger::Verdict;
/// use std::io::{Error, ErrorKind};
/// let failed = stagger::retry_blocking(|| Err::<(), _>(Error::from(ErrorKind::NotFound))).call().unwrap_err();
/// assert_eq!(failed.history().last().map(|attempt| attempt.verdict), Some(Verdict::Permanent));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    kept: KeptAttempts,
    forgotten: u32,
}

/// The attempts of nearly every call are one, which takes no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum KeptAttempts {
    #[default]
    None,
    One([SettledAttempt; 1]),
    Several(Vec<SettledAttempt>),
}

impl KeptAttempts {
    fn as_slice(&self) -> &[SettledAttempt] {
        match self {
            Self::None => &[],
            Self::One(one) => one,
            Self::Several(several) => several,
        }
    }

    fn push(&mut self, attempt: SettledAttempt) {
        match self {
            Self::None => *self = Self::One([attempt]),
            Self::One([first]) => *self = Self::Several(vec![*first, attempt]),
            Self::Several(several) => several.push(attempt),
        }
    }

    fn forget_oldest(&mut self) {
        match self {
            Self::Several(several) => drop(several.remove(0)),
            Self::None | Self::One(_) => *self = Self::None,
        }
    }
}

/// One settled attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettledAttempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// The verdict on its outcome.
    pub verdict: Verdict,
    /// The layer that decided it.
    pub cause: Cause,
    /// The time at which it settled, counted from the start of the call.
    pub at: Span,
}

/// The time at which an attempt settled.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) attempt: u32,
    /// Counted from the start of the call.
    pub(super) at: Span,
}

impl History {
    /// The attempts that are remembered.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SettledAttempt> {
        self.kept.as_slice().iter()
    }

    /// The last attempt that settled, if any did.
    #[must_use]
    pub fn last(&self) -> Option<&SettledAttempt> {
        self.kept.as_slice().last()
    }

    /// The number of older attempts that were dropped from the history.
    #[must_use]
    pub const fn forgotten(&self) -> u32 {
        self.forgotten
    }

    /// The history of one attempt.
    pub(super) const fn of(mark: Mark, outcome: &Outcome) -> Self {
        Self { kept: KeptAttempts::One([SettledAttempt::of(mark, outcome)]), forgotten: 0 }
    }

    pub(super) fn push(&mut self, mark: Mark, outcome: &Outcome) {
        if self.kept.as_slice().len() == KEPT {
            self.kept.forget_oldest();
            self.forgotten = self.forgotten.saturating_add(1);
        }
        self.kept.push(SettledAttempt::of(mark, outcome));
    }
}

impl SettledAttempt {
    const fn of(mark: Mark, outcome: &Outcome) -> Self {
        let Mark { attempt, at } = mark;
        Self { attempt, verdict: outcome.verdict, cause: outcome.cause, at }
    }
}

/// Filled in by a call that was given it with [`RetryCall::report`](crate::RetryCall::report).
///
/// ```
/// use stagger::{CallReport, Policy, Retrier, StdTime, Stop};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let mut report = CallReport::default();
/// let answer = retrier.retry_blocking(|| Ok::<_, ()>(42)).when(|_| true).report(&mut report).call();
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
    pub(crate) const fn done(&self) -> Option<Done> {
        self.done
    }

    /// Whether the call succeeded with the only attempt that it made.
    #[cfg(feature = "tonic")]
    pub(crate) fn is_clean(&self) -> bool {
        let only = (self.attempts(), self.history.iter().len()) == (1, 1);
        only && self.stop() == Some(Stop::Succeeded)
    }

    pub(super) fn fill(&mut self, done: Done, history: History) {
        *self = Self { done: Some(done), history };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_goes_on_for_ever_does_not_grow() {
        let mut history = History::default();
        for attempt in 1..=1_000 {
            history.push(Mark { attempt, at: Span::ZERO }, &Outcome::new(Verdict::Transient));
        }
        assert_eq!((history.iter().len(), history.forgotten()), (KEPT, 1_000 - 32));
        assert_eq!(history.iter().next().map(|oldest| oldest.attempt), Some(969));
    }
}

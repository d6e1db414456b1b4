//! The history of the attempts of one call.

use stagger_core::{Cause, Outcome, Span, Verdict};

/// Attempts that are remembered: far more than a sensible policy makes, and a kilobyte at most for
/// one that goes on for hours.
const KEPT: usize = 32;

/// The settled attempts of one call, oldest first; of a long call the last 32.
///
/// ```
/// use stagger::{Classify, Policy, Retrier, Span, StdTime, Verdict};
/// use std::io::{Error, ErrorKind};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let failed = retrier.run_blocking(|| Err::<(), _>(Error::from(ErrorKind::NotFound))).unwrap_err();
/// assert_eq!(failed.history().last().map(|attempt| attempt.verdict), Some(Verdict::Permanent));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    kept: Vec<SettledAttempt>,
    forgotten: u32,
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
        self.kept.iter()
    }

    /// The last attempt that settled, if any did.
    #[must_use]
    pub fn last(&self) -> Option<&SettledAttempt> {
        self.kept.last()
    }

    /// The number of older attempts that were dropped from the history.
    #[must_use]
    pub const fn forgotten(&self) -> u32 {
        self.forgotten
    }

    pub(super) fn push(&mut self, mark: Mark, outcome: &Outcome) {
        if self.kept.len() == KEPT {
            self.kept.remove(0);
            self.forgotten = self.forgotten.saturating_add(1);
        }
        let Mark { attempt, at } = mark;
        self.kept.push(SettledAttempt {
            attempt,
            verdict: outcome.verdict,
            cause: outcome.cause,
            at,
        });
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

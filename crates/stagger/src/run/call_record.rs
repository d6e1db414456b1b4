//! The record of a call's attempts until it ends.

use stagger_core::Outcome;
use stagger_core::retry::Done;

use super::history::Mark;
use super::{CallReport, Error, History};

/// The last result, and the history: nothing at all until an attempt has failed.
pub(super) struct CallRecord<'r, T, E> {
    record: Option<Box<AttemptRecord<T, E>>>,
    report: Option<&'r mut CallReport>,
}

struct AttemptRecord<T, E> {
    last: Option<Result<T, E>>,
    history: History,
}

impl<'r, T, E> CallRecord<'r, T, E> {
    pub(super) const fn new(report: Option<&'r mut CallReport>) -> Self {
        Self { record: None, report }
    }

    /// The error of the last attempt that had one.
    pub(super) fn error(&self) -> Option<&E> {
        self.record.as_ref()?.last.as_ref()?.as_ref().err()
    }

    /// Notes a settled attempt. One that ran out of its time has no result, and leaves the one
    /// before it in place.
    pub(super) fn note(&mut self, mark: Mark, result: Option<Result<T, E>>, outcome: &Outcome) {
        let record = self.record.get_or_insert_with(Box::default);
        record.history.push(mark, outcome);
        if result.is_some() {
            record.last = result;
        }
    }

    /// The reply that the last attempt ended with, if it was one.
    pub(super) fn reply(&mut self) -> Option<&mut T> {
        self.record.as_mut()?.last.as_mut()?.as_mut().ok()
    }

    /// Whether a report is wanted, so that a success must be noted too.
    pub(super) const fn is_reported(&self) -> bool {
        self.report.is_some()
    }

    /// The end of the call: its last result, whatever it is, and the report.
    pub(super) fn end(self, done: Done) -> Result<T, Error<E>> {
        let AttemptRecord { last, history } = self.record.map(|record| *record).unwrap_or_default();
        if let Some(report) = self.report {
            report.fill(done, history.clone());
        }
        match last {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(Error::new(done, history, Some(error))),
            None => Err(Error::new(done, history, None)),
        }
    }
}

impl<T, E> Default for AttemptRecord<T, E> {
    fn default() -> Self {
        Self { last: None, history: History::default() }
    }
}

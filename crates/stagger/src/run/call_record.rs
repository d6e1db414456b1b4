//! The record of a call until it ends: the history of its attempts and the report apart from its last result, because
//! only the result depends on the types of the call.

use stagger_core::retry::Done;
use stagger_core::{Cause, Outcome};

use super::Error;
use super::error::CallEnd;
use super::history::{CallReport, History, Mark};

/// The history of a call: nothing at all until an attempt has failed.
pub(super) struct CallRecord<'r> {
    end: Option<Box<CallEnd>>,
    report: Option<&'r mut CallReport>,
}

impl<'r> CallRecord<'r> {
    pub(super) const fn new(report: Option<&'r mut CallReport>) -> Self {
        Self { end: None, report }
    }

    /// Whether a report is wanted, so that a success must be noted too.
    pub(super) const fn is_reported(&self) -> bool {
        self.report.is_some()
    }

    /// Notes a settled attempt, which had a result or ran out of its time.
    pub(super) fn note(&mut self, mark: Mark, outcome: &Outcome, has_result: bool) {
        let end = self.end.get_or_insert_with(Box::default);
        end.history.push(mark, outcome);
        end.timed_out = !has_result && outcome.cause == Cause::Timeout;
    }

    /// Fills in the report of a call whose last attempt succeeded.
    pub(super) fn succeed(&mut self, done: Done, mark: Mark, outcome: &Outcome) {
        let Some(report) = &mut self.report else { return };
        let history = match self.end.take() {
            Some(mut end) => {
                end.history.push(mark, outcome);
                end.history
            }
            None => History::of(mark, outcome),
        };
        report.fill(done, history);
    }

    /// The call has ended so, whether its caller is kept back or not.
    pub(super) fn set_done(&mut self, done: Done) {
        self.end.get_or_insert_with(Box::default).done = Some(done);
    }

    /// The end of the call, and the report.
    pub(super) fn end(&mut self) -> Box<CallEnd> {
        let end = self.end.take().unwrap_or_default();
        if let (Some(report), Some(done)) = (&mut self.report, end.done) {
            report.fill(done, end.history.clone());
        }
        end
    }
}

/// The last result of a call. A reply is kept only when it was no success, which is rare: so it is not kept in place.
pub(super) enum LastResult<T, E> {
    None,
    Reply(Box<T>),
    Error(E),
}

impl<T, E> LastResult<T, E> {
    /// Keeps a result. An attempt that ran out of its time has none, and leaves the one before it in place.
    #[inline]
    pub(super) fn note(&mut self, result: Option<Result<T, E>>) {
        match result {
            Some(Ok(reply)) => *self = Self::Reply(Box::new(reply)),
            Some(Err(error)) => *self = Self::Error(error),
            None => {}
        }
    }

    /// The reply that the last attempt ended with, if it was one.
    pub(super) fn reply(&mut self) -> Option<&mut T> {
        if let Self::Reply(reply) = self { Some(reply) } else { None }
    }

    /// The error of the last attempt that had one.
    pub(super) const fn error(&self) -> Option<&E> {
        if let Self::Error(error) = self { Some(error) } else { None }
    }

    /// Takes the error of the last attempt that had one.
    pub(super) fn take_error(&mut self) -> Option<E> {
        if let Self::Error(error) = std::mem::replace(self, Self::None) {
            Some(error)
        } else {
            None
        }
    }

    /// The result of a call that ended so.
    pub(super) fn end(&mut self, end: Box<CallEnd>) -> Result<T, Error<E>> {
        match std::mem::replace(self, Self::None) {
            Self::Reply(reply) => Ok(*reply),
            Self::Error(error) => Err(Error::new(end, Some(error))),
            Self::None => Err(Error::new(end, None)),
        }
    }
}

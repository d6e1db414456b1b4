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

/// The last result of a call: a reply or an error. A reply is kept only when it was no success, which is rare: so it is
/// not kept in place.
pub(super) struct LastResult<T, E> {
    reply: Option<Box<T>>,
    pub(super) error: Option<E>,
}

impl<T, E> LastResult<T, E> {
    pub(super) const NONE: Self = Self { reply: None, error: None };

    /// Keeps a result. An attempt that ran out of its time has none, and leaves the one before it in place.
    #[inline]
    pub(super) fn note(&mut self, result: Option<Result<T, E>>) {
        match result {
            Some(Ok(reply)) => *self = Self { reply: Some(Box::new(reply)), error: None },
            Some(Err(error)) => *self = Self { reply: None, error: Some(error) },
            None => {}
        }
    }

    /// Keeps an error, for a call that keeps no replies.
    #[inline]
    pub(super) fn note_error(&mut self, error: E) -> &E {
        self.error.insert(error)
    }

    /// The reply that the last attempt ended with, if it was one.
    pub(super) fn reply(&mut self) -> Option<&mut T> {
        self.reply.as_deref_mut()
    }

    /// The error of the last attempt that had one.
    pub(super) const fn error(&self) -> Option<&E> {
        self.error.as_ref()
    }

    /// The result of a call that ended so.
    pub(super) fn end(&mut self, end: Box<CallEnd>) -> Result<T, Error<E>> {
        match self.reply.take() {
            Some(reply) => Ok(*reply),
            None => Err(Error::new(end, self.error.take())),
        }
    }
}

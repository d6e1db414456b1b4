//! One call about to be made, with its classifier and its settings.

use stagger_core::Outcome;
use stagger_core::retry::Ledger;

use super::active_call::ActiveCall;
use super::classifier::{ByError, ByResult, ByType, RetryIf};
use super::poll_call::CallDriver;
use super::{CallReport, Retrier};
use crate::cancel::Cancel;
use crate::clock::Sleep;

/// One call of a [`Retrier`], with settings of its own.
///
/// ```
/// use stagger::{Policy, Retrier, StdTime, retry::Stop};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let payment = retrier.retry_if(|_: &&str| true).idempotent(false);
/// let failed = payment.run_blocking(|| Err::<(), _>("reset after the request was read"));
/// assert_eq!(failed.map_err(|error| error.stop()), Err(Stop::NotIdempotent));
/// ```
#[derive(Debug)]
#[must_use = "a call does nothing until it is run"]
pub struct Run<'r, Z, L, J = ByType> {
    pub(super) retrier: &'r Retrier<Z, L>,
    pub(super) classifier: J,
    pub(super) idempotent: bool,
    pub(super) report: Option<&'r mut CallReport>,
    pub(super) cancel: Option<&'r Cancel>,
}

impl<Z, L> Retrier<Z, L> {
    /// One call, to be given its settings.
    pub fn call(&self) -> Run<'_, Z, L, ByType> {
        Run::new(self)
    }

    /// One call that is retried after the errors for which `worth` answers yes.
    pub fn retry_if<E, F>(&self, worth: F) -> Run<'_, Z, L, RetryIf<F>>
    where
        F: FnMut(&E) -> bool,
    {
        self.call().retry_if(worth)
    }

    /// One call whose errors `classifier` classifies: verdict, hint and all.
    pub fn classify<E, F>(&self, classifier: F) -> Run<'_, Z, L, ByError<F>>
    where
        F: FnMut(&E) -> Outcome,
    {
        self.call().classify(classifier)
    }

    /// One call whose results, `Ok` included, `classifier` classifies.
    pub fn classify_result<T, E, F>(&self, classifier: F) -> Run<'_, Z, L, ByResult<F>>
    where
        F: FnMut(&Result<T, E>) -> Outcome,
    {
        self.call().classify_result(classifier)
    }
}

impl<'r, Z, L> Run<'r, Z, L> {
    pub(super) const fn new(retrier: &'r Retrier<Z, L>) -> Self {
        Self { retrier, classifier: ByType, idempotent: true, report: None, cancel: None }
    }

    /// Retries after the errors for which `worth` answers yes: they are transient, all others
    /// permanent.
    pub fn retry_if<E, F>(self, worth: F) -> Run<'r, Z, L, RetryIf<F>>
    where
        F: FnMut(&E) -> bool,
    {
        self.classified_by(RetryIf(worth))
    }

    /// Classifies errors by `classifier`: verdict, hint and all.
    pub fn classify<E, F>(self, classifier: F) -> Run<'r, Z, L, ByError<F>>
    where
        F: FnMut(&E) -> Outcome,
    {
        self.classified_by(ByError(classifier))
    }

    /// Classifies results by `classifier`, `Ok` included: for replies that carry their failure in
    /// a status. When the attempts end on such an `Ok`, the call returns it as it is; a [`CallReport`]
    /// tells it from a success.
    pub fn classify_result<T, E, F>(self, classifier: F) -> Run<'r, Z, L, ByResult<F>>
    where
        F: FnMut(&Result<T, E>) -> Outcome,
    {
        self.classified_by(ByResult(classifier))
    }

    /// Classifies results by `classifier`.
    pub fn classified_by<J>(self, classifier: J) -> Run<'r, Z, L, J> {
        let Self { retrier, classifier: ByType, idempotent, report, cancel } = self;
        Run { retrier, classifier, idempotent, report, cancel }
    }
}

impl<'r, Z, L, J> Run<'r, Z, L, J> {
    /// Whether doing it twice is the same as doing it once. Default: yes, because the caller said what
    /// to retry. When not, only failures that the server cannot have acted on are retried.
    pub const fn idempotent(mut self, yes: bool) -> Self {
        self.idempotent = yes;
        self
    }

    /// Fills in `report` when the call ends, on success as well as on failure.
    pub const fn report(mut self, report: &'r mut CallReport) -> Self {
        self.report = Some(report);
        self
    }

    /// Ends a blocking call when `cancel` is used. An async call is ended by dropping its future.
    pub const fn cancel(mut self, cancel: &'r Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The driver of an async call.
    pub(super) fn driver<T, E>(self) -> CallDriver<'r, &'r Retrier<Z, L>, L, J, T, E, Z::Timer>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
    {
        let call = ActiveCall::new(self.retrier, None, self.idempotent);
        CallDriver::new(call, self.classifier, self.report)
    }
}

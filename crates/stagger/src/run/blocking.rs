//! Blocking calls: the driver that makes attempts and waits on the caller's thread.

use std::ops::Deref;

use stagger_core::Verdict;
use stagger_core::retry::Ledger;

use super::active_call::ActiveCall;
use super::blocking_driver::BlockingDriver;
use super::call_record::LastResult;
use super::classifier::Classifier;
use super::nested::Inside;
use super::operation::{BlockingOperation, Informed, Plain};
use super::{AttemptEnd, AttemptInfo, Destination, Error, Retrier, RetryCall};
use crate::cancel::Cancel;
use crate::clock::Pause;

/// A blocking operation, and the handle that ends its call early.
#[derive(Debug)]
pub struct Blocking<O> {
    pub(super) op: O,
    pub(super) cancel: Option<Cancel>,
}

impl<O> Blocking<O> {
    pub(super) const fn new(op: O) -> Self {
        Self { op, cancel: None }
    }
}

impl<Z, L> Retrier<Z, L> {
    /// A blocking call of `op`, to be told what is worth another attempt, and run by
    /// [`call`](RetryCall::call).
    ///
    /// ```
    /// use stagger::{Policy, Retrier};
    /// let server = Retrier::of(Policy::default());
    /// let mut tries = 0;
    /// let answer = server.retry_blocking(|| { tries += 1; if tries < 2 { Err("busy") } else { Ok(tries) } });
    /// assert_eq!(answer.when(|error| *error == "busy").call(), Ok(2));
    /// ```
    pub const fn retry_blocking<T, E, F>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Self, Blocking<Plain<F>>, T, E>
    where
        F: FnMut() -> Result<T, E>,
    {
        RetryCall::new(self, Blocking::new(Plain(op)))
    }

    /// The same for an `op` that wants to know which attempt it is, and what the error before was.
    ///
    /// ```
    /// use stagger::{Policy, Retrier};
    /// let server = Retrier::of(Policy::default());
    /// let call = server.retry_blocking_with(|attempt, before: Option<&&str>| match before {
    ///     None => Err("busy"),
    ///     Some(_) => Ok(attempt.number),
    /// });
    /// assert_eq!(call.when(|_| true).call(), Ok(2));
    /// ```
    pub const fn retry_blocking_with<T, E, F>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Self, Blocking<Informed<F>>, T, E>
    where
        F: FnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
    {
        RetryCall::new(self, Blocking::new(Informed(op)))
    }
}

impl<D, O, T, E, J> RetryCall<'_, D, Blocking<O>, T, E, J> {
    /// Ends the call when `cancel` is used. An async call is ended by dropping its future.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.op.cancel = Some(cancel.clone());
        self
    }

    /// Runs the operation on this thread until it succeeds or there is a reason to stop.
    ///
    /// Nothing can interrupt an attempt: the time limit is in its [`AttemptInfo`] for the operation to obey.
    ///
    /// # Errors
    /// When no further attempt is made; the error says why.
    pub fn call(self) -> Result<T, Error<E>>
    where
        D: Destination<Time: Pause>,
        for<'l> &'l D::Ledger: Ledger,
        O: BlockingOperation<T, E>,
        J: Classifier<T, E>,
    {
        let Blocking { mut op, cancel } = self.op;
        let call = ActiveCall::new(self.destination.into_retrier(), None, self.idempotent);
        let driver = BlockingDriver::new(call, self.report, cancel.as_ref());
        let attempt = |info: &dyn Fn() -> AttemptInfo, before: Option<&E>| op.attempt(info, before);
        drive_blocking(driver, self.classifier, attempt)
    }
}

/// Makes the attempts of a call on this thread, and waits between them.
#[inline]
pub(super) fn drive_blocking<R, Z, L, J, T, E>(
    mut driver: BlockingDriver<'_, '_, R, L>,
    mut classifier: J,
    mut op: impl FnMut(&dyn Fn() -> AttemptInfo, Option<&E>) -> Result<T, E>,
) -> Result<T, Error<E>>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Pause,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
{
    let mut last = LastResult::NONE;
    while driver.reach_attempt() {
        let inside = Inside::enter();
        let result = op(&|| driver.info(), last.error());
        drop(inside);
        let outcome = classifier.classify(&result);
        let end = match result {
            Ok(value) if outcome.verdict == Verdict::Ok => {
                let Some(end) = driver.succeed(&outcome) else { return Ok(value) };
                let result = Ok(value);
                classifier.on_attempt(&AttemptEnd::new(end, Some(&result), &outcome));
                return result.map_err(|_| unreachable!("it was made of a value"));
            }
            _ => driver.settle(&outcome),
        };
        classifier.on_attempt(&AttemptEnd::new(end, Some(&result), &outcome));
        last.note(Some(result));
    }
    last.end(driver.end())
}

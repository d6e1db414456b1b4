//! Blocking calls: the driver that makes attempts and waits on the caller's thread.

use stagger_core::Verdict;
use stagger_core::retry::{Action, Ledger, Wait};

use super::active_call::ActiveCall;
use super::call_record::CallRecord;
use super::classifier::Classifier;
use super::nested::Inside;
use super::{AttemptEnd, AttemptInfo, Classify, Error, Retrier, Run};
use crate::cancel::Cancel;
use crate::clock::Pause;

impl<Z, L> Retrier<Z, L> {
    /// Runs `op` on this thread; see [`Run::run_blocking`].
    ///
    /// # Errors
    /// When no further attempt is made; the error says why.
    pub fn run_blocking<T, E, F>(&self, op: F) -> Result<T, Error<E>>
    where
        Z: Pause,
        for<'l> &'l L: Ledger,
        E: Classify,
        F: FnMut() -> Result<T, E>,
    {
        self.call().run_blocking(op)
    }
}

impl<Z, L, J> Run<'_, Z, L, J> {
    /// Runs `op` on this thread until it succeeds or there is a reason to stop.
    ///
    /// Nothing can interrupt an attempt: the time limit is in its [`AttemptInfo`] for `op` to obey.
    ///
    /// # Errors
    /// As for [`run`](Self::run); also when cancelled.
    pub fn run_blocking<T, E, F>(self, mut op: F) -> Result<T, Error<E>>
    where
        Z: Pause,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut() -> Result<T, E>,
    {
        self.run_blocking_with(|_, _| op())
    }

    /// The same for an `op` that wants to know which attempt it is, and what the error before was.
    ///
    /// # Errors
    /// As for [`run_blocking`](Self::run_blocking).
    pub fn run_blocking_with<T, E, F>(self, mut op: F) -> Result<T, Error<E>>
    where
        Z: Pause,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
    {
        let Run { retrier, mut classifier, idempotent, report, cancel } = self;
        let is_cancelled = || cancel.is_some_and(Cancel::is_cancelled);
        let mut call = ActiveCall::new(retrier, None, idempotent);
        let mut record = CallRecord::new(report);
        let mut action = call.begin_blocking(record.is_reported());
        loop {
            action = match action {
                Action::Attempt(_) if is_cancelled() => call.cancel(),
                Action::Attempt(attempt) => {
                    let inside = Inside::enter();
                    let result = op(attempt, record.error());
                    drop(inside);
                    let outcome = classifier.classify(&result);
                    match result {
                        Ok(value) if outcome.verdict == Verdict::Ok && !record.is_reported() => {
                            call.succeed(&outcome);
                            return Ok(value);
                        }
                        result => {
                            let (next, mark) = call.settle(&outcome);
                            let end = (mark, call.next_step(&next));
                            classifier.on_attempt(&AttemptEnd::new(end, Some(&result), &outcome));
                            record.note(mark, Some(result), &outcome);
                            next
                        }
                    }
                }
                Action::Wait(Wait::Until(at)) => {
                    retrier.time.pause(call.delay_until(at), cancel);
                    if is_cancelled() { call.cancel() } else { call.wake() }
                }
                Action::Done(done) => {
                    if !done.pause.is_zero() {
                        retrier.time.pause(done.pause, cancel);
                    }
                    return record.end(done);
                }
                // The call has no copies.
                Action::Hedge(_) | Action::Wait(Wait::Copies { .. }) => call.cancel(),
            }
        }
    }
}

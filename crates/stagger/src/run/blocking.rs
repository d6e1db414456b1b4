//! The blocking driver: calls, waits on this thread, and asks the session what follows.

use stagger_core::Verdict;
use stagger_core::retry::Ledger;

use super::call_guard::{CallGuard, Next};
use super::call_record::CallRecord;
use super::classifier::Classifier;
use super::nested::Inside;
use super::{AttemptEnd, AttemptInfo, Cancel, Error, Run};
use crate::clock::Pause;

/// Runs `op` on this thread until it succeeds or there is a reason to stop.
pub(super) fn drive<Z, L, J, T, E, F>(run: Run<'_, Z, L, J>, mut op: F) -> Result<T, Error<E>>
where
    Z: Pause,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
    F: FnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
{
    let Run { retrier, mut classifier, idempotent, report, cancel } = run;
    let is_cancelled = || cancel.is_some_and(Cancel::is_cancelled);
    let mut guard = CallGuard::new(retrier, idempotent);
    let mut record = CallRecord::new(report);
    let mut next = guard.begin_blocking(record.is_reported());
    loop {
        next = match next {
            Next::Call(_) if is_cancelled() => guard.cancel(),
            Next::Call(turn) => {
                let inside = Inside::enter();
                let result = op(turn.info, record.error());
                drop(inside);
                let outcome = classifier.classify(&result);
                match result {
                    Ok(value) if outcome.verdict == Verdict::Ok && !record.is_reported() => {
                        guard.succeed(&outcome);
                        return Ok(value);
                    }
                    result => {
                        let (next, mark) = guard.settle(&outcome);
                        classifier.on_attempt(&AttemptEnd::new(
                            (next, mark),
                            Some(&result),
                            &outcome,
                        ));
                        record.note(mark, Some(result), &outcome);
                        next
                    }
                }
            }
            Next::Wait(delay) => {
                retrier.time.pause(delay, cancel);
                if is_cancelled() { guard.cancel() } else { guard.wake() }
            }
            Next::Done(done) => {
                if !done.pause.is_zero() {
                    retrier.time.pause(done.pause, cancel);
                }
                return record.end(done);
            }
            Next::Copies(_) => guard.cancel(),
        }
    }
}

//! The blocking driver: calls, waits on this thread, and asks the session what follows.

use stagger_core::Verdict;
use stagger_core::retry::Ledger;

use super::judge::Judge;
use super::live::{Live, Next};
use super::nested::Inside;
use super::past::Past;
use super::{AttemptEnd, AttemptInfo, Cancel, Error, Run};
use crate::clock::Pause;

/// Runs `op` on this thread until it succeeds or there is a reason to stop.
pub(super) fn drive<Z, L, J, T, E, F>(run: Run<'_, Z, L, J>, mut op: F) -> Result<T, Error<E>>
where
    Z: Pause,
    for<'l> &'l L: Ledger,
    J: Judge<T, E>,
    F: FnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
{
    let Run { retrier, mut judge, idempotent, report, cancel } = run;
    let is_cancelled = || cancel.is_some_and(Cancel::is_cancelled);
    let mut live = Live::new(retrier, idempotent);
    let mut past = Past::new(report);
    let mut next = live.begin_blocking(past.is_reported());
    loop {
        next = match next {
            Next::Call(_) if is_cancelled() => live.cancel(),
            Next::Call(turn) => {
                let inside = Inside::enter();
                let result = op(turn.info, past.error());
                drop(inside);
                let outcome = judge.judge(&result);
                match result {
                    Ok(value) if outcome.verdict == Verdict::Ok && !past.is_reported() => {
                        live.succeed(&outcome);
                        return Ok(value);
                    }
                    result => {
                        let (next, mark) = live.settle(&outcome);
                        judge.ended(&AttemptEnd::new((next, mark), Some(&result), &outcome));
                        past.note(mark, Some(result), &outcome);
                        next
                    }
                }
            }
            Next::Wait(delay) => {
                retrier.time.pause(delay, cancel);
                if is_cancelled() { live.cancel() } else { live.wake() }
            }
            Next::Done(done) => {
                if !done.pause.is_zero() {
                    retrier.time.pause(done.pause, cancel);
                }
                return past.end(done);
            }
            Next::Copies(_) => live.cancel(),
        }
    }
}

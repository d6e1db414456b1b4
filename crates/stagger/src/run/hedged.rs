//! The hedged driver: several copies of one slow call, the first success wins.

use std::future::Future;

use stagger_core::Verdict;
use stagger_core::retry::Ledger;

use super::call_guard::{CallGuard, Next};
use super::call_record::CallRecord;
use super::classifier::Classifier;
use super::classify::TIMED_OUT;
use super::copies::{Copies, CopyEvent};
use super::wait::Wait;
use super::{AttemptEnd, AttemptInfo, Error, Run};
use crate::clock::Sleep;

/// Runs copies of `op` until one succeeds or there is a reason to stop.
pub(super) fn drive<Z, L, J, T, E, F, Fut>(
    run: Run<'_, Z, L, J>,
    mut op: F,
) -> impl Future<Output = Result<T, Error<E>>>
where
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
    F: FnMut(AttemptInfo) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let Run { retrier, mut classifier, idempotent, report, cancel: _ } = run;
    let mut guard = CallGuard::new(retrier, idempotent);
    let mut record = CallRecord::new(report);
    async move {
        let mut copies = Copies::new(retrier);
        let mut next = guard.start_hedged(retrier.hedge_delay());
        loop {
            next = match next {
                Next::Call(turn) => {
                    if !turn.is_copy {
                        copies.abandon();
                    }
                    if let Some(launched) = guard.take_launched() {
                        copies.launch(launched, op(turn.info));
                    }
                    Next::Copies(turn.hedge_at)
                }
                Next::Copies(due) => match copies.event(due).await {
                    CopyEvent::Due => guard.wake(),
                    CopyEvent::Settled(launched, since, result) => {
                        let outcome = result.as_ref().map_or(TIMED_OUT, |r| classifier.classify(r));
                        if outcome.verdict == Verdict::Ok {
                            retrier.record_latency(since);
                        }
                        let (next, mark) = guard.settle_copy(launched, &outcome);
                        classifier.on_attempt(&AttemptEnd::new(
                            (next, mark),
                            result.as_ref(),
                            &outcome,
                        ));
                        match result {
                            Some(Ok(value))
                                if outcome.verdict == Verdict::Ok && !record.is_reported() =>
                            {
                                copies.abandon();
                                return Ok(value);
                            }
                            result => record.note(mark, result, &outcome),
                        }
                        next
                    }
                },
                Next::Wait(delay) => {
                    Wait::new(&mut classifier, retrier.time.sleep(delay)).await;
                    guard.wake()
                }
                Next::Done(done) => {
                    drop(copies);
                    if !done.pause.is_zero() {
                        Box::pin(retrier.time.sleep(done.pause)).await;
                    }
                    return record.end(done);
                }
            }
        }
    }
}

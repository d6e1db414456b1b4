//! The async drivers: poll the attempt, wait, and ask the session what follows.

use std::future::Future;
use std::pin::pin;

use stagger_core::Verdict;
use stagger_core::retry::Ledger;

use super::call_guard::{CallGuard, Next};
use super::call_record::CallRecord;
use super::classifier::Classifier;
use super::classify::TIMED_OUT;
use super::context::ContextSlot;
use super::wait::Wait;
use super::watch::Watch;
use super::{AttemptEnd, AttemptInfo, ContextGuard, Error, Run};
use crate::clock::Sleep;

/// The loop, for both kinds of operation: one that lends makes the future of every caller lend, and
/// then it is not seen to be `Send` where another would be.
///
/// Before each attempt it asks whether one `$can` be made; where it cannot, the call ends as cancelled.
///
/// The block captures its variables as they are: arguments of an async fn would be stored twice.
macro_rules! drive {
    ($run:expr, if $can:expr, |$info:ident, $previous:ident| $attempt:expr) => {{
        let Run { retrier, mut classifier, idempotent, report, cancel: _ } = $run;
        let mut guard = CallGuard::new(retrier, idempotent);
        let mut record = CallRecord::new(report);
        async move {
            let mut next = guard.begin(record.is_reported());
            loop {
                next = match next {
                    Next::Call(_) if !$can => guard.cancel(),
                    Next::Call(turn) => {
                        let ($info, $previous) = (turn.info, record.error());
                        let result = Watch::new(&mut guard, pin!($attempt)).await;
                        let outcome = result.as_ref().map_or(TIMED_OUT, |r| classifier.classify(r));
                        match result {
                            Some(Ok(value))
                                if outcome.verdict == Verdict::Ok && !record.is_reported() =>
                            {
                                guard.succeed(&outcome);
                                return Ok(value);
                            }
                            result => {
                                let (next, mark) = guard.settle(&outcome);
                                classifier.on_attempt(&AttemptEnd::new(
                                    (next, mark),
                                    result.as_ref(),
                                    &outcome,
                                ));
                                record.note(mark, result, &outcome);
                                next
                            }
                        }
                    }
                    Next::Wait(delay) => {
                        Wait::new(&mut classifier, retrier.time.sleep(delay)).await;
                        guard.wake()
                    }
                    Next::Done(done) => {
                        if !done.pause.is_zero() {
                            Box::pin(retrier.time.sleep(done.pause)).await;
                        }
                        return record.end(done);
                    }
                    Next::Copies(_) => guard.cancel(),
                }
            }
        }
    }};
}

/// Runs `op` until it succeeds or there is a reason to stop.
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
    drive!(run, if true, |info, _previous| op(info))
}

/// The same for an `op` whose futures borrow from it, and from the error before.
pub(super) fn drive_lending<Z, L, J, T, E, F>(
    run: Run<'_, Z, L, J>,
    mut op: F,
) -> impl Future<Output = Result<T, Error<E>>>
where
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
    F: AsyncFnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
{
    drive!(run, if true, |info, previous| op(info, previous))
}

/// The same for an `op` whose attempts hand a context from one to the next.
pub(super) fn drive_with_context<Z, L, J, C, T, E, F, Fut>(
    run: Run<'_, Z, L, J>,
    context: C,
    mut op: F,
) -> impl Future<Output = Result<T, Error<E>>>
where
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
    F: FnMut(AttemptInfo, ContextGuard<C>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let slot = ContextSlot::new(context);
    drive!(run, if slot.is_full(), |info, _previous| {
        op(info, slot.take().expect("it was full just now, and only this line empties it"))
    })
}

//! The driver of a hedged call: it launches copies, and takes the first success.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::retry::{Action, Launched, Ledger, Wait};
use stagger_core::{Instant, Verdict};

use super::active_call::ActiveCall;
use super::classifier::{Classifier, TIMED_OUT};
use super::hedged::{CopyEvent, Hedged, HedgedCopies};
use super::operation::Operation;
use super::poll_call::{CallFuture, CallParts};
use super::{AttemptEnd, Destination, Error, Retrier, RetryCall};
use crate::clock::Sleep;

/// A hedged call under way; see [`RetryFuture`](super::RetryFuture) for its parameters.
type HedgedCall<'r, D, O, Fut, T, E, J, W> = HedgedFuture<
    CallFuture<
        'r,
        HedgedCopies<<D as Destination>::Retrier, O, Fut, W>,
        <D as Destination>::Retrier,
        <D as Destination>::Ledger,
        J,
        T,
        E,
        W,
    >,
>;

impl<'r, D, O, T, E, J> IntoFuture for RetryCall<'r, D, Hedged<O>, T, E, J>
where
    D: Destination<Time: Sleep, Retrier: Clone>,
    for<'l> &'l D::Ledger: Ledger,
    O: Operation<Attempt: Future<Output = Result<T, E>>>,
    J: Classifier<T, E>,
{
    type Output = Result<T, Error<E>>;
    type IntoFuture = HedgedCall<'r, D, O, O::Attempt, T, E, J, <D::Time as Sleep>::Timer>;

    fn into_future(self) -> Self::IntoFuture {
        let retrier = self.destination.into_retrier();
        let copies = HedgedCopies::new(retrier.clone(), self.op.0);
        let call = ActiveCall::new(retrier, None, self.idempotent);
        HedgedFuture { call: CallFuture::new(copies, call, self.classifier, self.report) }
    }
}

pin_project! {
    /// An async call with several copies under way, and their driver.
    #[doc(hidden)]
    pub struct HedgedFuture<C> {
        #[pin]
        call: C,
    }
}

impl<'r, R, Z, L, O, J, T, E> Future
    for HedgedFuture<
        CallFuture<'r, HedgedCopies<R, O, O::Attempt, Z::Timer>, R, L, J, T, E, Z::Timer>,
    >
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    O: Operation<Attempt: Future<Output = Result<T, E>>>,
    J: Classifier<T, E>,
{
    type Output = Result<T, Error<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().call.project().poll_copies(context)
    }
}

/// The parts of a hedged call.
type HedgedParts<'p, 'r, R, L, O, Fut, J, T, E, W> =
    CallParts<'p, 'r, HedgedCopies<R, O, Fut, W>, R, L, J, T, E, W>;

impl<R, Z, L, O, J, T, E> HedgedParts<'_, '_, R, L, O, O::Attempt, J, T, E, Z::Timer>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    O: Operation<Attempt: Future<Output = Result<T, E>>>,
    J: Classifier<T, E>,
{
    /// Polls the call until it has ended.
    fn poll_copies(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Error<E>>> {
        loop {
            let action = if !self.state.is_begun() {
                self.call().begin_hedged()
            } else if !self.state.is_attempting() {
                let held =
                    self.state.is_waiting() && self.classifier.poll_waiting(context).is_pending();
                let next = self.state.as_mut().poll_attempt((false, held), context);
                if !ready!(next) {
                    self.attempts.as_mut().abandon();
                    return Poll::Ready(self.last.end(self.state.as_mut().end()));
                }
                self.attempts.as_mut().abandon();
                Action::Hedge(())
            } else {
                match ready!(self.attempts.as_mut().poll(self.state.call.time(), context)) {
                    CopyEvent::HedgeDue => self.call().wake(),
                    CopyEvent::Ended(launched, since, result) => {
                        match self.on_copy((launched, since), result) {
                            Ok(value) => {
                                self.state.as_mut().set_ended();
                                self.attempts.as_mut().abandon();
                                return Poll::Ready(Ok(value));
                            }
                            Err(action) => action,
                        }
                    }
                }
            };
            self.act(action);
        }
    }

    /// Carries out an action.
    fn act(&mut self, action: Action<()>) {
        match action {
            Action::Hedge(()) => {
                let (info, launched) = (self.state.info(), self.call().take_launched());
                self.state.as_mut().set_attempting();
                if !self.attempts.as_mut().start(info, launched, self.state.call.time()) {
                    self.state.as_mut().refuse();
                }
            }
            Action::Wait(Wait::Copies { hedge_at }) => {
                self.attempts.as_mut().await_next(hedge_at);
                self.state.as_mut().set_attempting();
            }
            action => {
                if let Action::Done(_) = action {
                    self.attempts.as_mut().abandon();
                }
                self.state.as_mut().act(action);
            }
        }
    }

    /// One of several copies settled: the value that ends the call, or what follows.
    fn on_copy(
        &mut self,
        (launched, since): (Launched, Instant),
        result: Option<Result<T, E>>,
    ) -> Result<T, Action<()>> {
        let outcome = result.as_ref().map_or(TIMED_OUT, |result| self.classifier.classify(result));
        if outcome.verdict == Verdict::Ok {
            self.state.call.record_latency(since);
        }
        let (action, mark) = self.call().settle_copy(launched, &outcome);
        let end = (mark, self.state.call.next_step(&action));
        self.classifier.on_attempt(&AttemptEnd::new(end, result.as_ref(), &outcome));
        let record = self.state.as_mut().project().record;
        match result {
            Some(Ok(value)) if outcome.verdict == Verdict::Ok && !record.is_reported() => Ok(value),
            result => {
                record.note(mark, &outcome, result.is_some());
                self.last.note(result);
                Err(action)
            }
        }
    }

    fn call(&mut self) -> &mut ActiveCall<R, L> {
        self.state.as_mut().project().call
    }
}

impl<C> fmt::Debug for HedgedFuture<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HedgedFuture").finish_non_exhaustive()
    }
}

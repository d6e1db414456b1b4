//! The driver of an async call: whichever attempts it makes, it makes them and waits between them.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::retry::Ledger;
use stagger_core::{Outcome, Verdict};

use super::active_call::ActiveCall;
use super::attempt_source::AttemptSource;
use super::call_record::LastResult;
use super::classifier::{Classifier, TIMED_OUT, of_errors};
use super::driver_state::DriverState;
use super::{AttemptEnd, CallReport, Error, Retrier};
use crate::clock::Sleep;

pin_project! {
    /// An async call under way: its attempts, and all that its driver keeps beside them. `W` is a timer.
    ///
    /// A type with a name, because nested unnamed futures that borrow are not seen to be `Send`
    /// (rust-lang/rust #110338).
    #[project = CallParts]
    pub struct CallFuture<'r, A, R, L, J, T, E, W> {
        // Dropped in this order: an attempt ends before its permits go back.
        #[pin]
        pub(super) attempts: A,
        #[pin]
        pub(super) state: DriverState<'r, R, L, W>,
        pub(super) classifier: J,
        pub(super) last: LastResult<T, E>,
    }
}

impl<'r, A, R, L, J, T, E, W> CallFuture<'r, A, R, L, J, T, E, W> {
    pub(crate) const fn new(
        attempts: A,
        call: ActiveCall<R, L>,
        classifier: J,
        report: Option<&'r mut CallReport>,
    ) -> Self {
        let state = DriverState::new(call, report);
        Self { attempts, state, classifier, last: LastResult::NONE }
    }

    pub(super) fn attempts(self: Pin<&mut Self>) -> Pin<&mut A> {
        self.project().attempts
    }
}

impl<A, R, Z, L, J, T, E> Future for CallFuture<'_, A, R, L, J, T, E, Z::Timer>
where
    A: AttemptSource<T, E>,
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
{
    type Output = Result<T, Error<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut call = self.project();
        loop {
            if !call.state.is_attempting() {
                if !call.state.as_mut().starts_at_once(A::TIMED) {
                    let mut held = false;
                    if const { A::REPLIES || J::OF_ERROR.is_none() } {
                        held = call.is_held(context);
                    }
                    let next = call.state.as_mut().poll_attempt((A::TIMED, held), context);
                    if !ready!(next) {
                        return Poll::Ready(call.end());
                    }
                }
                if !call.start() {
                    call.state.as_mut().refuse();
                    continue;
                }
            }
            if const { A::REPLIES || J::OF_ERROR.is_none() } {
                if let Some(end) = ready!(call.poll_observed(context)) {
                    return Poll::Ready(end);
                }
                continue;
            }
            let Poll::Ready(result) = call.poll_source(context) else {
                ready!(call.state.as_mut().poll_limit(context));
                call.attempts.as_mut().clear();
                call.state.as_mut().time_out();
                continue;
            };
            // An attempt ends before its permits go back.
            call.attempts.as_mut().clear();
            match result {
                Ok(value) => {
                    call.state.as_mut().succeed(&Outcome::OK);
                    return Poll::Ready(Ok(value));
                }
                Err(error) => {
                    let error = call.last.note_error(error);
                    let outcome = const { of_errors::<T, E, J>() }(call.classifier, error);
                    call.state.as_mut().fail(&outcome);
                }
            }
        }
    }
}

impl<A, R, Z, L, J, T, E> CallParts<'_, '_, A, R, L, J, T, E, Z::Timer>
where
    A: AttemptSource<T, E>,
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
{
    /// Starts the attempt that was decided on. Says whether it can be made.
    #[inline]
    fn start(&mut self) -> bool {
        let state = &self.state;
        self.attempts.as_mut().start(|| state.info(), || state.call.time().now())
    }

    #[inline]
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Result<T, E>> {
        let state = &self.state;
        self.attempts.as_mut().poll(|| state.call.time().now(), context)
    }

    /// Polls the attempt under way, of a source or for a classifier that sees more than errors. Ready with the result
    /// that it ends the call with, or with none when it settled.
    #[inline(always)]
    fn poll_observed(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, Error<E>>>> {
        let polled = self.poll_source(context);
        let (result, outcome) = match polled {
            Poll::Ready(result) => {
                let known = if result.is_err() { self.attempts.known_outcome() } else { None };
                let outcome = known.unwrap_or_else(|| self.classifier.classify(&result));
                match result {
                    Ok(value) if outcome.verdict == Verdict::Ok && !A::NOTES_END => {
                        self.attempts.as_mut().clear();
                        if self.state.is_reported() {
                            return Poll::Ready(Some(self.report(Ok(value), outcome)));
                        }
                        self.state.as_mut().succeed(&outcome);
                        return Poll::Ready(Some(Ok(value)));
                    }
                    result => (Some(result), outcome),
                }
            }
            Poll::Pending => match self.attempts.known_outcome() {
                Some(outcome) => (None, outcome),
                None => {
                    ready!(self.state.as_mut().poll_limit(context));
                    (None, TIMED_OUT)
                }
            },
        };
        self.attempts.as_mut().clear();
        self.settle(result, outcome);
        Poll::Ready(None)
    }

    /// Whether the wait before the next attempt must not end yet.
    #[inline]
    fn is_held(&mut self, context: &mut Context<'_>) -> bool {
        if !self.state.is_waiting() {
            return false;
        }
        if A::REPLIES {
            self.attempts.as_mut().while_waiting(self.last.reply(), context);
        }
        self.classifier.poll_waiting(context).is_pending()
    }

    /// The call ended with this success, and a report was wanted.
    #[cold]
    fn report(&mut self, result: Result<T, E>, outcome: Outcome) -> Result<T, Error<E>> {
        let end = self.state.as_mut().report_success(&outcome);
        self.classifier.on_attempt(&AttemptEnd::new(end, Some(&result), &outcome));
        result.map_err(|_| unreachable!("a success has no error"))
    }

    /// The attempt under way settled, without a result when it had none, and was dropped.
    #[inline]
    fn settle(&mut self, result: Option<Result<T, E>>, mut outcome: Outcome) {
        if A::REPLIES {
            outcome.replayable &= self.attempts.is_replayable();
        }
        let end = self.state.as_mut().settle(&outcome, result.is_some());
        self.classifier.on_attempt(&AttemptEnd::new(end, result.as_ref(), &outcome));
        self.last.note(result);
        if A::REPLIES && self.state.is_waiting() {
            self.attempts.as_mut().before_wait();
        }
    }

    /// The result of a call that has ended.
    #[inline]
    fn end(&mut self) -> Result<T, Error<E>> {
        if const { J::OF_ERROR.is_some() } {
            return Err(self.state.as_mut().end_with(&mut self.last.error));
        }
        let end = self.state.as_mut().end();
        if A::REPLIES {
            if let (Some(reply), Some(done)) = (self.last.reply(), end.done) {
                self.attempts.explain(reply, done);
            }
        }
        self.last.end(end)
    }
}

impl<A, R, L, J, T, E, W> fmt::Debug for CallFuture<'_, A, R, L, J, T, E, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFuture").finish_non_exhaustive()
    }
}

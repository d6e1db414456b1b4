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
use super::attempt_source::{AttemptEvent, AttemptSource};
use super::call_record::LastResult;
use super::classifier::{Classifier, TIMED_OUT};
use super::driver_state::DriverState;
use super::{AttemptEnd, CallReport, Error, Retrier};
use crate::clock::Sleep;

pin_project! {
    /// A call with all that its driver keeps beside the attempts. `W` is a timer.
    #[project = DriverParts]
    pub struct CallDriver<'r, R, L, J, T, E, W> {
        #[pin]
        pub(super) state: DriverState<'r, R, L, W>,
        pub(super) classifier: J,
        pub(super) last: LastResult<T, E>,
    }
}

impl<'r, R, L, J, T, E, W> CallDriver<'r, R, L, J, T, E, W> {
    pub(crate) const fn new(
        call: ActiveCall<R, L>,
        classifier: J,
        report: Option<&'r mut CallReport>,
    ) -> Self {
        let state = DriverState::new(call, report);
        Self { state, classifier, last: LastResult::None }
    }
}

impl<R, Z, L, J, T, E> DriverParts<'_, '_, R, L, J, T, E, Z::Timer>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
{
    /// Polls the call until it has ended.
    #[inline]
    fn poll_call<A: AttemptSource<T, E>>(
        &mut self,
        mut attempts: Pin<&mut A>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, Error<E>>> {
        loop {
            if !self.state.is_attempting() {
                if !self.state.as_mut().starts_at_once(A::TIMED) {
                    let mut held = false;
                    if const { A::REPLIES || !J::ERRORS_ONLY } {
                        held = self.is_held(attempts.as_mut(), context);
                    }
                    let next = self.state.as_mut().poll_attempt((A::TIMED, held), context);
                    if !ready!(next) {
                        return Poll::Ready(self.end(&*attempts));
                    }
                }
                let state = &self.state;
                if !attempts.as_mut().start(|| state.info(), state.call.time()) {
                    self.state.as_mut().refuse();
                    continue;
                }
            }
            let (result, outcome) = match attempts.as_mut().poll(self.state.call.time(), context) {
                Poll::Ready(AttemptEvent::Ended(result)) => {
                    let outcome = self.classifier.classify(&result);
                    match result {
                        Ok(value) if outcome.verdict == Verdict::Ok => {
                            // An attempt ends before its permits go back.
                            attempts.clear();
                            if self.state.as_mut().succeed(&outcome) {
                                return Poll::Ready(self.report_success(Ok(value), &outcome));
                            }
                            return Poll::Ready(Ok(value));
                        }
                        result => (Some(result), outcome),
                    }
                }
                Poll::Ready(AttemptEvent::Classified(result, outcome)) => (result, outcome),
                Poll::Pending => {
                    ready!(self.state.as_mut().poll_limit(context));
                    (None, TIMED_OUT)
                }
            };
            attempts.as_mut().clear();
            self.settle(attempts.as_mut(), result, outcome);
        }
    }

    /// Whether the wait before the next attempt must not end yet.
    #[inline]
    fn is_held<A: AttemptSource<T, E>>(
        &mut self,
        attempts: Pin<&mut A>,
        context: &mut Context<'_>,
    ) -> bool {
        if !self.state.is_waiting() {
            return false;
        }
        if A::REPLIES {
            attempts.while_waiting(self.last.reply(), context);
        }
        self.classifier.poll_waiting(context).is_pending()
    }

    /// The attempt under way succeeded, and a report is wanted.
    fn report_success(&mut self, result: Result<T, E>, outcome: &Outcome) -> Result<T, Error<E>> {
        let end = self.state.as_mut().report_success(outcome);
        if !J::ERRORS_ONLY {
            self.classifier.on_attempt(&AttemptEnd::new(end, Some(&result), outcome));
        }
        result.map_err(|_| unreachable!("a success has no error"))
    }

    /// The attempt under way settled, without a result when it had none, and was dropped.
    #[inline]
    fn settle<A: AttemptSource<T, E>>(
        &mut self,
        attempts: Pin<&mut A>,
        result: Option<Result<T, E>>,
        mut outcome: Outcome,
    ) {
        if A::REPLIES {
            outcome.replayable &= attempts.is_replayable();
        }
        let end = self.state.as_mut().settle(&outcome, result.is_some());
        if J::ERRORS_ONLY {
            if let Some(Err(error)) = result {
                *self.last = LastResult::Error(error);
            }
        } else {
            self.classifier.on_attempt(&AttemptEnd::new(end, result.as_ref(), &outcome));
            self.last.note(result);
        }
        if A::REPLIES && self.state.is_waiting() {
            attempts.before_wait();
        }
    }

    /// The result of a call that has ended.
    fn end<A: AttemptSource<T, E>>(&mut self, attempts: &A) -> Result<T, Error<E>> {
        let end = self.state.as_mut().end();
        if J::ERRORS_ONLY {
            return Err(Error::new(end, self.last.take_error()));
        }
        if A::REPLIES {
            if let (Some(reply), Some(done)) = (self.last.reply(), end.done) {
                attempts.explain(reply, done);
            }
        }
        self.last.end(end)
    }
}

pin_project! {
    /// An async call under way: its attempts, and their driver.
    ///
    /// A type with a name, because nested unnamed futures that borrow are not seen to be `Send`
    /// (rust-lang/rust #110338).
    pub struct CallFuture<A, D> {
        // Dropped in this order: an attempt ends before its permits go back.
        #[pin]
        attempts: A,
        #[pin]
        driver: D,
    }
}

impl<A, D> fmt::Debug for CallFuture<A, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFuture").finish_non_exhaustive()
    }
}

impl<R, L, J, T, E, W> fmt::Debug for CallDriver<'_, R, L, J, T, E, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallDriver").finish_non_exhaustive()
    }
}

impl<A, D> CallFuture<A, D> {
    pub(crate) const fn new(attempts: A, driver: D) -> Self {
        Self { attempts, driver }
    }

    pub(super) fn attempts(self: Pin<&mut Self>) -> Pin<&mut A> {
        self.project().attempts
    }
}

impl<A, R, Z, L, J, T, E> Future for CallFuture<A, CallDriver<'_, R, L, J, T, E, Z::Timer>>
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
        let parts = self.project();
        parts.driver.project().poll_call(parts.attempts, context)
    }
}

//! The future of a call: polls the service, waits, and asks the call what follows.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::retry::{Done, Ledger};
use stagger_core::{Outcome, Verdict};
use tower_service::Service;

use super::ServiceError;
use crate::run::{Inside, Next, Owned, Past, TIMED_OUT, UNKNOWN};
use crate::{Judge, Sleep};

pin_project! {
    /// One call under way through a [`Stagger`](super::Stagger).
    ///
    /// Dropping it at any point ends the call: the attempt under way is dropped, its permits go back,
    /// and the breaker hears nothing of it. The first attempt starts at the first poll.
    #[project = Parts]
    #[must_use = "a call does nothing until it is polled"]
    pub struct ResponseFuture<S, Req, J, Z, L>
    where
        S: Service<Req>,
        Z: Sleep,
    {
        // Dropped in this order: an attempt ends before its permits go back.
        #[pin]
        stage: Stage<S::Future, Z::Timer>,
        #[pin]
        limit: Limit<Z::Timer>,
        call: Owned<Z, L>,
        past: Past<'static, S::Response, S::Error>,
        // Whether the service was polled ready and has not been called since.
        ready: bool,
        service: S,
        request: Req,
        judge: J,
    }
}

pin_project! {
    #[project = StageParts]
    enum Stage<F, T> {
        Begin,
        // An attempt waits for the service.
        Readying,
        Attempt { #[pin] future: F },
        Wait { #[pin] timer: T },
        // All is decided; the caller is kept back for a while.
        Pause { #[pin] timer: T, done: Done },
        Ended,
    }
}

pin_project! {
    /// The time limit of the attempt under way.
    #[project = LimitParts]
    enum Limit<T> {
        // The attempt has not yet turned out to take time.
        Unasked,
        None,
        Timer { #[pin] timer: T },
    }
}

type CallResult<S, Req> = Result<<S as Service<Req>>::Response, <S as Service<Req>>::Error>;

impl<S, Req, J, Z, L> ResponseFuture<S, Req, J, Z, L>
where
    S: Service<Req>,
    Z: Sleep,
{
    pub(super) fn new(call: Owned<Z, L>, service: S, request: Req, judge: J) -> Self {
        let (stage, limit, past) = (Stage::Begin, Limit::Unasked, Past::new(None));
        Self { stage, limit, call, past, ready: true, service, request, judge }
    }
}

impl<S, Req, J, Z, L> Future for ResponseFuture<S, Req, J, Z, L>
where
    S: Service<Req>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    Req: Clone,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Judge<S::Response, S::Error>,
{
    type Output = Result<S::Response, ServiceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut parts = self.project();
        loop {
            let next = match parts.stage.as_mut().project() {
                StageParts::Begin => parts.call.begin(),
                StageParts::Readying => match ready!(parts.poll_ready(context)) {
                    Ok(()) => {
                        parts.send();
                        continue;
                    }
                    Err(next) => next,
                },
                StageParts::Attempt { .. } => match ready!(parts.poll_attempt(context)) {
                    Ok(response) => return parts.finish(Ok(response)),
                    Err(next) => next,
                },
                StageParts::Wait { timer } => {
                    ready!(timer.poll(context));
                    parts.call.wake()
                }
                StageParts::Pause { timer, done } => {
                    ready!(timer.poll(context));
                    let done = *done;
                    return parts.end(done);
                }
                StageParts::Ended => return Poll::Pending,
            };
            if let Some(done) = parts.go_on(next) {
                return parts.end(done);
            }
        }
    }
}

impl<S, Req, J, Z, L> Parts<'_, S, Req, J, Z, L>
where
    S: Service<Req>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    Req: Clone,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Judge<S::Response, S::Error>,
{
    /// Turns to what is next; the end, when nothing is.
    fn go_on(&mut self, next: Next) -> Option<Done> {
        match next {
            // The first attempt has a service that is ready.
            Next::Call(_) if *self.ready => self.send(),
            Next::Call(_) => self.stage.set(Stage::Readying),
            Next::Wait(delay) => self.stage.set(Stage::Wait { timer: self.call.sleep(delay) }),
            Next::Done(done) if done.pause.is_zero() => return Some(done),
            Next::Done(done) => {
                let timer = self.call.sleep(done.pause);
                self.stage.set(Stage::Pause { timer, done });
            }
            // Nobody asked for copies.
            Next::Copies(_) => {
                let next = self.call.cancel();
                return self.go_on(next);
            }
        }
        None
    }

    /// Calls the service, which is ready.
    fn send(&mut self) {
        *self.ready = false;
        let inside = Inside::enter();
        let future = self.service.call(self.request.clone());
        drop(inside);
        self.stage.set(Stage::Attempt { future });
    }

    /// Whether the attempt under way can go to the service; what is next when it cannot.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Next>> {
        match self.service.poll_ready(context) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            // A service that failed to get ready is spent, by tower's contract.
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.settle(Some(Err(error)), &UNKNOWN))),
            Poll::Pending => self.poll_limit(context).map(Err),
        }
    }

    /// The response of the attempt under way; what is next when it failed.
    fn poll_attempt(&mut self, context: &mut Context<'_>) -> Poll<Result<S::Response, Next>> {
        let StageParts::Attempt { future } = self.stage.as_mut().project() else {
            return Poll::Pending;
        };
        let inside = Inside::enter();
        let polled = future.poll(context);
        drop(inside);
        let Poll::Ready(result) = polled else {
            return self.poll_limit(context).map(Err);
        };
        let outcome = self.judge.judge(&result);
        match result {
            Ok(response) if outcome.verdict == Verdict::Ok => {
                self.call.succeed(&outcome);
                Poll::Ready(Ok(response))
            }
            result => Poll::Ready(Err(self.settle(Some(result), &outcome))),
        }
    }

    /// The attempt under way takes time: what is next when it took too much.
    fn poll_limit(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        if let LimitParts::Unasked = self.limit.as_mut().project() {
            let limit = self.call.limit().map(|span| Limit::Timer { timer: self.call.sleep(span) });
            self.limit.set(limit.unwrap_or(Limit::None));
        }
        let LimitParts::Timer { timer } = self.limit.as_mut().project() else {
            return Poll::Pending;
        };
        ready!(timer.poll(context));
        Poll::Ready(self.settle(None, &TIMED_OUT))
    }

    /// The attempt under way settled, without a result when its time ran out.
    fn settle(&mut self, result: Option<CallResult<S, Req>>, outcome: &Outcome) -> Next {
        self.stage.set(Stage::Ended);
        self.limit.set(Limit::Unasked);
        let (next, mark) = self.call.settle(outcome);
        self.past.note(mark, result, outcome);
        next
    }

    fn end(&mut self, done: Done) -> Poll<Result<S::Response, ServiceError>> {
        let past = std::mem::replace(self.past, Past::new(None));
        self.finish(past.end(done).map_err(ServiceError::ended))
    }

    fn finish(
        &mut self,
        result: Result<S::Response, ServiceError>,
    ) -> Poll<Result<S::Response, ServiceError>> {
        self.stage.set(Stage::Ended);
        Poll::Ready(result)
    }
}

impl<S, Req, J, Z, L> fmt::Debug for ResponseFuture<S, Req, J, Z, L>
where
    S: Service<Req>,
    Z: Sleep,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

//! The future of a call: polls the service, waits, and asks the call what follows.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::retry::{Done, Ledger};
use stagger_core::{Cause, Instant, Outcome, Span, Verdict};
use tower_service::Service;

use super::{FailedReplies, Outgoing, ServiceError};
use crate::run::{CallRecord, Inside, Next, OwnedCall, TIMED_OUT, Timer, UNKNOWN};
use crate::{AttemptEnd, AttemptInfo, Classifier, Sleep};

pin_project! {
    /// One call under way through a [`Stagger`](super::Stagger).
    ///
    /// Dropping it at any point ends the call: the attempt under way is dropped, its permits go back,
    /// and the breaker hears nothing of it. The first attempt starts at the first poll.
    #[project = Parts]
    #[must_use = "a call does nothing until it is polled"]
    pub struct ResponseFuture<S, K, J, Z, L>
    where
        K: Outgoing,
        S: Service<K::Request>,
        Z: Sleep,
    {
        // Dropped in this order: an attempt ends before its permits go back.
        #[pin]
        phase: CallPhase<S::Future, Z::Timer, K::Refresh>,
        limit: AttemptTimer<Z::Timer>,
        call: OwnedCall<Z, L>,
        record: CallRecord<'static, S::Response, S::Error>,
        // Whether the service was polled ready and has not been called since.
        ready: bool,
        service: S,
        outgoing: K,
        // The attempt that is next or under way.
        attempt: AttemptInfo,
        // When it was decided on, if the time that it has left is known and it could not start at once.
        decided: Option<Instant>,
        // Whether the last reply may have to be read before its connection can be used again.
        draining: bool,
        classifier: J,
    }
}

pin_project! {
    #[project = CallPhaseParts]
    enum CallPhase<F, T, R> {
        Begin,
        // An attempt waits for fresh credentials.
        Refresh { #[pin] future: R },
        // An attempt waits for the service.
        Readying,
        Attempt { #[pin] future: F },
        Wait { timer: Timer<T> },
        // All is decided; the caller is kept back for a while. Boxed, because a timer is larger than
        // all else and few calls need one.
        Pause { timer: Pin<Box<T>>, done: Done },
        Ended,
    }
}

/// The time limit of the attempt under way.
enum AttemptTimer<T> {
    /// The attempt has not yet turned out to take time.
    Unasked,
    None,
    Timer(Pin<Box<T>>),
}

type CallResult<S, K> = Result<
    <S as Service<<K as Outgoing>::Request>>::Response,
    <S as Service<<K as Outgoing>::Request>>::Error,
>;

/// An attempt whose body went out of reach after it was decided on.
const BODY_GONE: Outcome =
    Outcome::new(Verdict::Unprocessed).with_cause(Cause::Transport).not_replayable();

impl<S, K, J, Z, L> ResponseFuture<S, K, J, Z, L>
where
    K: Outgoing,
    S: Service<K::Request>,
    Z: Sleep,
{
    pub(super) fn new(call: OwnedCall<Z, L>, service: S, outgoing: K, classifier: J) -> Self {
        Self {
            phase: CallPhase::Begin,
            limit: AttemptTimer::Unasked,
            call,
            record: CallRecord::new(None),
            ready: true,
            service,
            outgoing,
            attempt: AttemptInfo::FIRST,
            decided: None,
            draining: false,
            classifier,
        }
    }
}

impl<S, K, J, Z, L> Future for ResponseFuture<S, K, J, Z, L>
where
    K: Outgoing + FailedReplies<S::Response>,
    S: Service<K::Request>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<S::Response, S::Error>,
{
    type Output = Result<S::Response, ServiceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut parts = self.project();
        loop {
            let next = match parts.phase.as_mut().project() {
                CallPhaseParts::Begin => parts.call.begin(),
                CallPhaseParts::Refresh { .. } => match ready!(parts.poll_refresh(context)) {
                    Ok(()) => {
                        parts.phase.set(CallPhase::Readying);
                        continue;
                    }
                    Err(next) => next,
                },
                CallPhaseParts::Readying => match ready!(parts.poll_ready(context)) {
                    Ok(()) => match parts.send() {
                        Ok(()) => continue,
                        Err(next) => next,
                    },
                    Err(next) => next,
                },
                CallPhaseParts::Attempt { .. } => match ready!(parts.poll_attempt(context)) {
                    Ok(response) => return parts.finish(Ok(response)),
                    Err(next) => next,
                },
                CallPhaseParts::Wait { timer } => {
                    if *parts.draining {
                        let reply = parts.record.reply();
                        let done = reply
                            .map(|reply| parts.outgoing.poll_discard(reply, context).is_ready());
                        *parts.draining = done == Some(false);
                    }
                    ready!(timer.poll_with(&mut *parts.classifier, context));
                    parts.call.wake()
                }
                CallPhaseParts::Pause { timer, done } => {
                    ready!(timer.as_mut().poll(context));
                    let done = *done;
                    return parts.end(done);
                }
                CallPhaseParts::Ended => return Poll::Pending,
            };
            if let Some(done) = parts.go_on(next) {
                return parts.end(done);
            }
        }
    }
}

impl<S, K, J, Z, L> Parts<'_, S, K, J, Z, L>
where
    K: Outgoing + FailedReplies<S::Response>,
    S: Service<K::Request>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<S::Response, S::Error>,
{
    /// Turns to what is next; the end, when nothing is.
    fn go_on(&mut self, mut next: Next) -> Option<Done> {
        loop {
            next = match next {
                Next::Call(turn) => match self.start(turn.info) {
                    Ok(()) => return None,
                    Err(next) => next,
                },
                Next::Wait(delay) => {
                    self.outgoing.reserve();
                    *self.draining = true;
                    self.phase.set(CallPhase::Wait { timer: Timer::new(self.call.sleep(delay)) });
                    return None;
                }
                Next::Done(done) if done.pause.is_zero() => return Some(done),
                Next::Done(done) => {
                    let timer = Box::pin(self.call.sleep(done.pause));
                    self.phase.set(CallPhase::Pause { timer, done });
                    return None;
                }
                // Nobody asked for copies.
                Next::Copies(_) => self.call.cancel(),
            }
        }
    }

    /// Starts an attempt; what is next when it cannot be made.
    fn start(&mut self, attempt: AttemptInfo) -> Result<(), Next> {
        *self.attempt = attempt;
        // The first attempt has a service that is ready.
        if *self.ready {
            return self.send();
        }
        self.outgoing.reserve();
        *self.decided = attempt.remaining.map(|_| self.call.now());
        match self.outgoing.refresh(&attempt) {
            Some(future) => self.phase.set(CallPhase::Refresh { future }),
            None => self.phase.set(CallPhase::Readying),
        }
        Ok(())
    }

    /// Calls the service, which is ready; what is next when there is nothing to send.
    fn send(&mut self) -> Result<(), Next> {
        self.take_off_the_wait();
        let Some(request) = self.outgoing.request(self.attempt) else {
            return Err(self.settle(None, &BODY_GONE));
        };
        *self.ready = false;
        let inside = Inside::enter();
        let future = self.service.call(request);
        drop(inside);
        self.phase.set(CallPhase::Attempt { future });
        Ok(())
    }

    /// Subtracts the wait for the service from the time that the attempt is told it has.
    fn take_off_the_wait(&mut self) {
        let Some(decided) = self.decided.take() else { return };
        let waited = self.call.now() - decided;
        let left = |span: Span| span.saturating_sub(waited);
        self.attempt.remaining = self.attempt.remaining.map(left);
        self.attempt.timeout = self.attempt.timeout.map(left);
    }

    /// Whether the credentials are fresh; what is next when that took too long.
    fn poll_refresh(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Next>> {
        let CallPhaseParts::Refresh { future } = self.phase.as_mut().project() else {
            return Poll::Pending;
        };
        let inside = Inside::enter();
        let polled = future.poll(context);
        drop(inside);
        match polled {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => self.poll_limit(context).map(Err),
        }
    }

    /// Whether the attempt under way can go to the service; what is next when it cannot.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Next>> {
        // Part of the attempt: a service that retries while it gets ready must not multiply it.
        let inside = Inside::enter();
        let polled = self.service.poll_ready(context);
        drop(inside);
        match polled {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            // A service that failed to get ready is spent, by tower's contract.
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.settle(Some(Err(error)), &UNKNOWN))),
            Poll::Pending => self.poll_limit(context).map(Err),
        }
    }

    /// The response of the attempt under way; what is next when it failed.
    fn poll_attempt(&mut self, context: &mut Context<'_>) -> Poll<Result<S::Response, Next>> {
        let CallPhaseParts::Attempt { future } = self.phase.as_mut().project() else {
            return Poll::Pending;
        };
        let inside = Inside::enter();
        let polled = future.poll(context);
        drop(inside);
        let Poll::Ready(result) = polled else {
            return self.poll_limit(context).map(Err);
        };
        let outcome = self.classifier.classify(&result);
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
        if let AttemptTimer::Unasked = self.limit {
            let limit = self.call.limit().map(|span| self.call.sleep(span));
            *self.limit =
                limit.map_or(AttemptTimer::None, |timer| AttemptTimer::Timer(Box::pin(timer)));
        }
        let AttemptTimer::Timer(timer) = self.limit else {
            return Poll::Pending;
        };
        ready!(timer.as_mut().poll(context));
        Poll::Ready(self.settle(None, &TIMED_OUT))
    }

    /// The attempt under way settled, without a result when its time ran out.
    fn settle(&mut self, result: Option<CallResult<S, K>>, outcome: &Outcome) -> Next {
        self.phase.set(CallPhase::Ended);
        *self.limit = AttemptTimer::Unasked;
        let mut outcome = *outcome;
        outcome.replayable &= self.outgoing.is_replayable();
        let (next, mark) = self.call.settle(&outcome);
        self.classifier.on_attempt(&AttemptEnd::new((next, mark), result.as_ref(), &outcome));
        self.record.note(mark, result, &outcome);
        next
    }

    fn end(&mut self, done: Done) -> Poll<Result<S::Response, ServiceError>> {
        let record = std::mem::replace(self.record, CallRecord::new(None));
        let mut result = record.end(done);
        if let Ok(reply) = &mut result {
            self.outgoing.explain(reply, done);
        }
        self.finish(result.map_err(ServiceError::ended))
    }

    fn finish(
        &mut self,
        result: Result<S::Response, ServiceError>,
    ) -> Poll<Result<S::Response, ServiceError>> {
        self.phase.set(CallPhase::Ended);
        Poll::Ready(result)
    }
}

impl<S, K, J, Z, L> fmt::Debug for ResponseFuture<S, K, J, Z, L>
where
    K: Outgoing,
    S: Service<K::Request>,
    Z: Sleep,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

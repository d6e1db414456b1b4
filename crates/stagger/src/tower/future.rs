//! The future of a call, whose attempts are requests to a service.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::retry::{Done, Ledger};
use stagger_core::{Cause, Instant, Outcome, Span, Verdict};
use tower_service::Service;

use super::{FailedReplies, Outgoing, ServiceError};
use crate::run::{ActiveCall, AttemptSource, CallFuture, Inside, UNKNOWN};
use crate::{AttemptInfo, Classifier, Retrier, Sleep};

pin_project! {
    /// One call under way through a [`Stagger`](super::Stagger).
    ///
    /// Dropping it at any point ends the call: the attempt under way is dropped and stays paid, a grant
    /// that no attempt has followed goes back, and the breaker counts nothing. The first attempt starts
    /// at the first poll.
    #[must_use = "a call does nothing until it is polled"]
    pub struct ResponseFuture<S, K, J, Z, L>
    where
        K: Outgoing,
        S: Service<K::Request>,
        Z: Sleep,
    {
        #[pin]
        call: CallFuture<
            'static,
            ServiceAttempts<S, K>,
            Arc<Retrier<Z, L>>,
            L,
            J,
            S::Response,
            S::Error,
            Z::Timer,
        >,
    }
}

impl<S, K, J, Z, L> ResponseFuture<S, K, J, Z, L>
where
    K: Outgoing,
    S: Service<K::Request>,
    Z: Sleep,
{
    /// A call through `service`, which was polled ready for the first attempt.
    pub(super) fn new(
        call: ActiveCall<Arc<Retrier<Z, L>>, L>,
        service: S,
        outgoing: K,
        classifier: J,
    ) -> Self {
        let attempts = ServiceAttempts::new(service, outgoing);
        Self { call: CallFuture::new(attempts, call, classifier, None) }
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
        self.project().call.poll(context).map_err(ServiceError::ended)
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

pin_project! {
    /// A service, and the request that each attempt sends.
    #[project = ServiceParts]
    struct ServiceAttempts<S, K>
    where
        K: Outgoing,
        S: Service<K::Request>,
    {
        #[pin]
        phase: ServicePhase<S::Future, K::Refresh>,
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
    }
}

pin_project! {
    #[project = ServicePhaseParts]
    enum ServicePhase<F, R> {
        Idle,
        // The attempt waits for fresh credentials.
        Refresh { #[pin] future: R },
        // The attempt waits for the service.
        Readying,
        Sent { #[pin] future: F },
        // The service failed to get ready, so it is spent, by tower's contract.
        Spent,
        // The attempt has no body any more.
        BodyGone,
    }
}

/// An attempt whose body went out of reach after it was decided on.
const BODY_GONE: Outcome =
    Outcome::new(Verdict::Unprocessed).with_cause(Cause::Transport).not_replayable();

impl<S, K> ServiceAttempts<S, K>
where
    K: Outgoing,
    S: Service<K::Request>,
{
    const fn new(service: S, outgoing: K) -> Self {
        Self {
            phase: ServicePhase::Idle,
            ready: true,
            service,
            outgoing,
            attempt: AttemptInfo::FIRST,
            decided: None,
            draining: false,
        }
    }
}

impl<S, K> AttemptSource<S::Response, S::Error> for ServiceAttempts<S, K>
where
    K: Outgoing + FailedReplies<S::Response>,
    S: Service<K::Request>,
{
    const REPLIES: bool = true;

    fn start(
        self: Pin<&mut Self>,
        info: impl FnOnce() -> AttemptInfo,
        now: impl Fn() -> Instant,
    ) -> bool {
        let (mut parts, attempt) = (self.project(), info());
        *parts.attempt = attempt;
        // The first attempt has a service that is ready.
        if *parts.ready {
            parts.send(&now);
            return true;
        }
        parts.outgoing.reserve();
        *parts.decided = attempt.remaining.map(|_| now());
        match parts.outgoing.refresh(&attempt) {
            Some(future) => parts.phase.set(ServicePhase::Refresh { future }),
            None => parts.phase.set(ServicePhase::Readying),
        }
        true
    }

    fn poll(
        self: Pin<&mut Self>,
        now: impl Fn() -> Instant,
        context: &mut Context<'_>,
    ) -> Poll<Result<S::Response, S::Error>> {
        let mut parts = self.project();
        loop {
            // Part of the attempt: a service that retries while it gets ready must not multiply it.
            let inside = Inside::enter();
            match parts.phase.as_mut().project() {
                ServicePhaseParts::Sent { future } => {
                    let result = ready!(parts.outgoing.enter(|| future.poll(context)));
                    parts.outgoing.settled(&result);
                    return Poll::Ready(result);
                }
                ServicePhaseParts::Refresh { future } => {
                    ready!(future.poll(context));
                    parts.phase.set(ServicePhase::Readying);
                }
                ServicePhaseParts::Readying => match ready!(parts.service.poll_ready(context)) {
                    Ok(()) => {
                        drop(inside);
                        parts.send(&now);
                    }
                    Err(error) => {
                        parts.phase.set(ServicePhase::Spent);
                        return Poll::Ready(Err(error));
                    }
                },
                ServicePhaseParts::Idle
                | ServicePhaseParts::Spent
                | ServicePhaseParts::BodyGone => {
                    return Poll::Pending;
                }
            }
        }
    }

    fn known_outcome(&self) -> Option<Outcome> {
        match self.phase {
            ServicePhase::Spent => Some(UNKNOWN),
            ServicePhase::BodyGone => Some(BODY_GONE),
            _ => None,
        }
    }

    fn clear(self: Pin<&mut Self>) {
        self.project().phase.set(ServicePhase::Idle);
    }

    fn before_wait(self: Pin<&mut Self>) {
        let parts = self.project();
        parts.outgoing.reserve();
        *parts.draining = true;
    }

    fn while_waiting(
        self: Pin<&mut Self>,
        reply: Option<&mut S::Response>,
        context: &mut Context<'_>,
    ) {
        let parts = self.project();
        if *parts.draining {
            let done = reply.map(|reply| parts.outgoing.poll_discard(reply, context).is_ready());
            *parts.draining = done == Some(false);
        }
    }

    fn is_replayable(&self) -> bool {
        self.outgoing.is_replayable()
    }

    fn explain(&self, reply: &mut S::Response, done: Done) {
        self.outgoing.explain(reply, done);
    }
}

impl<S, K> ServiceParts<'_, S, K>
where
    K: Outgoing,
    S: Service<K::Request>,
{
    /// Calls the service, which is ready.
    fn send(&mut self, now: impl Fn() -> Instant) {
        self.take_off_the_wait(now);
        let Some(request) = self.outgoing.request(self.attempt) else {
            return self.phase.set(ServicePhase::BodyGone);
        };
        *self.ready = false;
        let inside = Inside::enter();
        let future = self.outgoing.enter(|| self.service.call(request));
        drop(inside);
        self.phase.set(ServicePhase::Sent { future });
    }

    /// Subtracts the wait for the service from the time that the attempt is said to have.
    fn take_off_the_wait(&mut self, now: impl Fn() -> Instant) {
        let Some(decided) = self.decided.take() else { return };
        let waited = now() - decided;
        let left = |span: Span| span.saturating_sub(waited);
        self.attempt.remaining = self.attempt.remaining.map(left);
        self.attempt.timeout = self.attempt.timeout.map(left);
    }
}

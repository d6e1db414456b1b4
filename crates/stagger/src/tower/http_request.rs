//! An HTTP request that can be sent again, whatever its body is, and the hooks that change it before each attempt.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use ::http::request::Parts;
use ::http::{Request, Response};
use http_body::Body;
use stagger_core::Remedy;
use stagger_core::retry::Done;

use super::{FailedReplies, Outgoing};
use crate::AttemptInfo;
use crate::http::{AttemptHeaders, Replay, Replayable, poll_drain};
use crate::observe::{HttpSpan, HttpTarget, error_kind};

/// A kept HTTP request: its head, and as much of its body as was read.
///
/// Each attempt has the head of the caller, extensions included, with its own
/// [`AttemptInfo`] among these, unless it is a first attempt without time limits.
#[derive(Debug)]
pub struct HttpRequest<B, H, R> {
    head: Parts,
    body: Replayable<B>,
    reserved: Option<Replay<B>>,
    attempt_headers: AttemptHeaders,
    /// The bytes of failed replies that may still be read.
    drain: u64,
    hook: H,
    refresh: R,
    /// The span of the attempt under way.
    span: Option<HttpSpan>,
}

impl<B: Body, H, R> HttpRequest<B, H, R> {
    pub(super) fn new(
        request: Request<B>,
        (limit, drain, attempt_headers): (usize, u64, AttemptHeaders),
        (hook, refresh): (H, R),
    ) -> Self {
        let (head, body) = request.into_parts();
        let body = Replayable::new(body, limit);
        let (reserved, span) = (None, None);
        Self { head, body, reserved, attempt_headers, drain, hook, refresh, span }
    }
}

impl<B: Body, H: Prepare, R: Refresh> Outgoing for HttpRequest<B, H, R> {
    type Request = Request<Replay<B>>;
    type Refresh = R::Future;

    fn is_replayable(&self) -> bool {
        self.body.is_replayable()
    }

    /// Lets no connection of the attempt before read on and so go past the limit.
    fn reserve(&mut self) {
        if self.reserved.is_none() {
            self.reserved = self.body.attempt();
        }
    }

    fn refresh(&mut self, attempt: &AttemptInfo) -> Option<R::Future> {
        (attempt.remedy == Some(Remedy::RefreshAuth)).then(|| self.refresh.refresh())
    }

    fn request(&mut self, attempt: &AttemptInfo) -> Option<Request<Replay<B>>> {
        let body = match self.reserved.take() {
            Some(body) => body,
            None => self.body.attempt()?,
        };
        let mut head = self.head.clone();
        // Extensions are three allocations, and of a first attempt without limits there is nothing to tell.
        if *attempt != AttemptInfo::FIRST {
            head.extensions.insert(*attempt);
        }
        self.attempt_headers.write(attempt, &mut head.headers);
        let span = HttpSpan::start(attempt.number, || HttpTarget::of(&self.head));
        span.enter(|| self.hook.prepare(&mut head, attempt));
        self.span = Some(span);
        Some(Request::from_parts(head, body))
    }

    fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.span {
            Some(span) => span.enter(work),
            None => work(),
        }
    }
}

impl<B, H, R, C: Body + Unpin> FailedReplies<Response<C>> for HttpRequest<B, H, R> {
    fn poll_discard(&mut self, reply: &mut Response<C>, context: &mut Context<'_>) -> Poll<()> {
        if self.drain == 0 {
            return Poll::Ready(());
        }
        poll_drain(Pin::new(reply.body_mut()), &mut self.drain, context).map(|_| ())
    }

    fn explain(&self, reply: &mut Response<C>, done: Done) {
        reply.extensions_mut().insert(done);
    }

    fn settled<E>(&mut self, result: &Result<Response<C>, E>) {
        if let Some(mut span) = self.span.take() {
            match result {
                Ok(reply) => span.replied(reply.status().as_u16()),
                Err(_) => span.failed(error_kind::<E>()),
            }
        }
    }
}

/// Changes the head of each attempt's request, after the wait and directly before the send: for
/// credentials and signatures that do not outlive a wait.
///
/// Any `FnMut(&mut Parts, &AttemptInfo)` does. It sees the caller's head, not that of the attempt
/// before.
pub trait Prepare {
    /// Changes the head of the request that is about to be sent.
    fn prepare(&mut self, head: &mut Parts, attempt: &AttemptInfo);
}

impl<F: FnMut(&mut Parts, &AttemptInfo)> Prepare for F {
    fn prepare(&mut self, head: &mut Parts, attempt: &AttemptInfo) {
        self(head, attempt);
    }
}

/// Gets fresh credentials after a 401, once in a call, for [`Prepare`] to use.
///
/// Any `FnMut() -> impl Future<Output = ()>` does. It takes its time from the attempt that follows.
pub trait Refresh {
    /// Ready when the next attempt can be sent.
    type Future: Future<Output = ()>;

    /// Begins to refresh.
    fn refresh(&mut self) -> Self::Future;
}

impl<F: FnMut() -> Fut, Fut: Future<Output = ()>> Refresh for F {
    type Future = Fut;

    fn refresh(&mut self) -> Fut {
        self()
    }
}

/// Nothing is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unchanged;

impl Prepare for Unchanged {
    fn prepare(&mut self, _: &mut Parts, _: &AttemptInfo) {}
}

impl Refresh for Unchanged {
    type Future = Ready<()>;

    fn refresh(&mut self) -> Ready<()> {
        ready(())
    }
}

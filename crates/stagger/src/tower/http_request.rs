//! An HTTP request that can be sent again, whatever its body is.

use std::pin::Pin;
use std::task::{Context, Poll};

use ::http::request::Parts;
use ::http::{Request, Response};
use http_body::Body;
use stagger_core::Remedy;
use stagger_core::retry::Done;

use super::{FailedReplies, Outgoing, Prepare, Refresh};
use crate::AttemptInfo;
use crate::http::{AttemptHeaders, Replay, Replayable, poll_drain};

/// A kept HTTP request: its head, and as much of its body as was read.
///
/// Each attempt has the head of the caller, extensions included, with its own
/// [`AttemptInfo`] among these.
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
}

impl<B: Body, H, R> HttpRequest<B, H, R> {
    pub(super) fn new(
        request: Request<B>,
        (limit, drain, attempt_headers): (usize, u64, AttemptHeaders),
        (hook, refresh): (H, R),
    ) -> Self {
        let (head, body) = request.into_parts();
        let body = Replayable::new(body, limit);
        Self { head, body, reserved: None, attempt_headers, drain, hook, refresh }
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
        head.extensions.insert(*attempt);
        self.attempt_headers.write(attempt, &mut head.headers);
        self.hook.prepare(&mut head, attempt);
        Some(Request::from_parts(head, body))
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
}

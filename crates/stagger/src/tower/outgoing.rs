//! The rules for the request of a call: kept, and sent as the request of each attempt, and whether that may happen twice.

use std::future::{Future, Ready};
use std::task::{Context, Poll};

use stagger_core::retry::Done;

use crate::AttemptInfo;

/// Makes the request of each attempt out of what is kept of the call's.
pub trait Outgoing {
    /// The request type of the service.
    type Request;
    /// See [`refresh`](Self::refresh).
    type Refresh: Future<Output = ()>;

    /// Whether one more attempt could send equal bytes.
    fn is_replayable(&self) -> bool;

    /// Another attempt will follow: what the last one still sends is of no use any more.
    fn reserve(&mut self);

    /// Carries out what the attempt's [`remedy`](AttemptInfo::remedy) asks for, before the service is
    /// asked whether it is ready. `None` when there is nothing to do.
    fn refresh(&mut self, attempt: &AttemptInfo) -> Option<Self::Refresh>;

    /// The request of this attempt, directly before it is sent. `None` when it is not replayable
    /// after all.
    fn request(&mut self, attempt: &AttemptInfo) -> Option<Self::Request>;

    /// Does work of the attempt under way, inside its span if it has one.
    fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// The treatment of replies that are failures.
pub trait FailedReplies<Res> {
    /// Reads what may be read of the last one, whose attempt another follows, while the call waits;
    /// ready when there is no more to do.
    fn poll_discard(&mut self, reply: &mut Res, context: &mut Context<'_>) -> Poll<()>;

    /// Says in the reply that the call ends with how it ended.
    fn explain(&self, reply: &mut Res, done: Done);

    /// An attempt ended with this result; tells its span, if it has one.
    fn settled<E>(&mut self, result: &Result<Res, E>) {
        let _ = result;
    }
}

/// A request that is cloned for each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cloned<Req>(pub(super) Req);

impl<Req: Clone> Outgoing for Cloned<Req> {
    type Request = Req;
    type Refresh = Ready<()>;

    fn is_replayable(&self) -> bool {
        true
    }

    fn reserve(&mut self) {}

    fn refresh(&mut self, _: &AttemptInfo) -> Option<Ready<()>> {
        None
    }

    fn request(&mut self, _: &AttemptInfo) -> Option<Req> {
        Some(self.0.clone())
    }
}

impl<Req, Res> FailedReplies<Res> for Cloned<Req> {
    fn poll_discard(&mut self, _: &mut Res, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn explain(&self, _: &mut Res, _: Done) {}
}

/// Says whether sending a request twice is the same as sending it once.
///
/// Any `Fn(&Request) -> bool` does. A request that is not idempotent is retried only after failures
/// that the server cannot have acted on.
///
/// ```
/// use stagger::tower::Idempotent;
/// let reads = |command: &&str| command.starts_with("GET ");
/// assert!(reads.is_idempotent(&"GET stock"));
/// assert!(!reads.is_idempotent(&"INCR stock"));
/// ```
pub trait Idempotent<Req> {
    /// Whether this request may be sent twice.
    fn is_idempotent(&self, request: &Req) -> bool;
}

impl<Req, F: Fn(&Req) -> bool> Idempotent<Req> for F {
    fn is_idempotent(&self, request: &Req) -> bool {
        self(request)
    }
}

#[cfg(feature = "http")]
impl<B> Idempotent<http::Request<B>> for crate::http::ByMethod {
    fn is_idempotent(&self, request: &http::Request<B>) -> bool {
        self.allows(request.method(), request.headers())
    }
}

/// Every request may be sent twice, because the caller said what to retry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EveryRequest;

impl<Req> Idempotent<Req> for EveryRequest {
    fn is_idempotent(&self, _: &Req) -> bool {
        true
    }
}

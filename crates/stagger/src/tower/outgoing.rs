//! A call's request that is kept, and becomes the request of each attempt.

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
}

/// The treatment of replies that are failures.
pub trait FailedReplies<Res> {
    /// Reads what may be read of the last one, whose attempt another follows, while the call waits;
    /// ready when there is no more to do.
    fn poll_discard(&mut self, reply: &mut Res, context: &mut Context<'_>) -> Poll<()>;

    /// Says in the reply that the call ends with how it ended.
    fn explain(&self, reply: &mut Res, done: Done);
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

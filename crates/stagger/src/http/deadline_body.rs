//! The body of a reply, which ends with the deadline of its call.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::{fmt, io};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use stagger_core::Instant;

use crate::Sleep;
use crate::run::BoxError;

pin_project! {
    /// The body of a reply, as the server sent it, until the deadline of its call.
    ///
    /// When the deadline passes while the body has nothing to give, it fails, and the connection is let
    /// go: with an [`std::io::Error`] of the kind [`TimedOut`](std::io::ErrorKind::TimedOut), or for gRPC
    /// with the status DEADLINE_EXCEEDED. What has arrived by then can be read however late. Without a
    /// deadline in the policy the body has no limit.
    pub struct DeadlineBody<B, Z: Sleep> {
        // None once the deadline has passed.
        #[pin]
        inner: Option<B>,
        deadline: Option<BodyDeadline<Z>>,
        late: fn() -> BoxError,
    }
}

/// The instant at which the body of a reply must have been read.
struct BodyDeadline<Z: Sleep> {
    time: Z,
    until: Instant,
    // Boxed, because a timer need not be `Unpin`, and few bodies wait long enough to need one.
    timer: Option<Pin<Box<Z::Timer>>>,
}

impl<B, Z: Sleep> DeadlineBody<B, Z> {
    /// A body that may be read until the instant, by the time of `Z`; without a limit if there is none.
    pub fn new(inner: B, until: Option<(Z, Instant)>) -> Self {
        let deadline = until.map(|(time, until)| BodyDeadline { time, until, timer: None });
        Self { inner: Some(inner), deadline, late }
    }

    /// The same body without a limit: for a stream that is meant to outlive its call, such as server-sent
    /// events.
    #[must_use]
    pub fn without_deadline(self) -> Self {
        Self { deadline: None, ..self }
    }

    /// The same with another error for a body that is late.
    #[cfg(feature = "tonic")]
    pub(crate) fn or(self, late: fn() -> BoxError) -> Self {
        Self { late, ..self }
    }
}

/// Its kind is the one that `reqwest::Error::is_timeout` looks for.
fn late() -> BoxError {
    let late = "the deadline of the call passed before the reply ended";
    io::Error::new(io::ErrorKind::TimedOut, late).into()
}

impl<Z: Sleep> BodyDeadline<Z> {
    /// Ready when the deadline has passed. To be polled only when the body has nothing to give: what
    /// has arrived is the caller's, however late it is read.
    fn poll_passed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = self.time.now();
            if now >= self.until {
                return Poll::Ready(());
            }
            let wait = || Box::pin(self.time.sleep(self.until - now));
            ready!(self.timer.get_or_insert_with(wait).as_mut().poll(context));
            self.timer = None;
        }
    }
}

impl<B, Z> Body for DeadlineBody<B, Z>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    Z: Sleep,
{
    type Data = B::Data;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, Self::Error>>> {
        let mut parts = self.project();
        let Some(inner) = parts.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = inner.poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(deadline) = parts.deadline else { return Poll::Pending };
        ready!(deadline.poll_passed(context));
        // The caller has no use for the rest, so its connection is let go.
        parts.inner.set(None);
        Poll::Ready(Some(Err((parts.late)())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B, Z: Sleep> fmt::Debug for DeadlineBody<B, Z> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadlineBody").finish_non_exhaustive()
    }
}

//! The body of a response, which ends with the deadline of its call.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use stagger_core::Instant;
use tonic::Status;

use crate::Sleep;

pin_project! {
    /// The messages of a response, as the service sent them.
    ///
    /// When the deadline of the call passes first, the stream ends with DEADLINE_EXCEEDED.
    pub struct GrpcBody<B, Z: Sleep> {
        #[pin]
        inner: B,
        limit: Option<Limit<Z>>,
    }
}

struct Limit<Z: Sleep> {
    time: Z,
    until: Instant,
    // Boxed, because a timer need not be `Unpin`, and few bodies wait long enough to need one.
    timer: Option<Pin<Box<Z::Timer>>>,
}

impl<B, Z: Sleep> GrpcBody<B, Z> {
    /// A body that may be read until the instant.
    pub(super) fn new(inner: B, until: Option<(Z, Instant)>) -> Self {
        let limit = until.map(|(time, until)| Limit { time, until, timer: None });
        Self { inner, limit }
    }
}

impl<Z: Sleep> Limit<Z> {
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

impl<B, Z> Body for GrpcBody<B, Z>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    Z: Sleep,
{
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let parts = self.project();
        if let Poll::Ready(frame) = parts.inner.poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(limit) = parts.limit else { return Poll::Pending };
        ready!(limit.poll_passed(context));
        *parts.limit = None;
        let late = Status::deadline_exceeded("the call ran out of its time");
        Poll::Ready(Some(Err(late.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B, Z: Sleep> fmt::Debug for GrpcBody<B, Z> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcBody").finish_non_exhaustive()
    }
}

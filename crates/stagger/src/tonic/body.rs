//! The body of a response, which ends with the deadline of its call.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use stagger_core::Instant;
use tonic::Status;

use crate::Sleep;
use crate::http::BodyDeadline;

pin_project! {
    /// The messages of a response, as the service sent them.
    ///
    /// When the deadline of the call passes first, the stream ends with DEADLINE_EXCEEDED.
    pub struct GrpcBody<B, Z: Sleep> {
        #[pin]
        inner: B,
        deadline: Option<BodyDeadline<Z>>,
    }
}

impl<B, Z: Sleep> GrpcBody<B, Z> {
    /// A body that may be read until the instant.
    pub(super) fn new(inner: B, until: Option<(Z, Instant)>) -> Self {
        Self { inner, deadline: until.map(|(time, until)| BodyDeadline::new(time, until)) }
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
        let Some(deadline) = parts.deadline else { return Poll::Pending };
        ready!(deadline.poll_passed(context));
        *parts.deadline = None;
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

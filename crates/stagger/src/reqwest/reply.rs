//! Replies whose body is read within their attempt, or until the deadline of their call.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::response::Parts;
use ::reqwest::{Body, Response, ResponseBuilderExt};
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use stagger_core::Instant;

use super::SendError;
use crate::TokioTime;
use crate::http::{BodyDeadline, late};

/// Reads the whole reply, at most `limit` bytes.
pub(super) async fn buffer(reply: Response, limit: usize) -> Result<Response, SendError> {
    let (parts, mut body) = take_apart(reply);
    // OK because no target has pointers of more than 64 bits.
    if body.size_hint().lower() > limit as u64 {
        return Err(SendError::TooLarge { limit });
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(SendError::Reqwest)?.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return Err(SendError::TooLarge { limit });
        }
        whole.extend_from_slice(&data);
    }
    Ok(Response::from(::http::Response::from_parts(parts, whole.freeze())))
}

/// The same reply, whose body fails when it has nothing to give at the deadline of the call.
pub(super) fn bounded(reply: Response, until: Instant) -> Response {
    let (parts, inner) = take_apart(reply);
    let deadline = Some(BodyDeadline::new(TokioTime, until));
    let body = Body::wrap(Bounded { inner, deadline });
    Response::from(::http::Response::from_parts(parts, body))
}

/// The reply in parts which remember its URL.
pub(super) fn take_apart(reply: Response) -> (Parts, Body) {
    let url = reply.url().clone();
    let (mut parts, body) = ::http::Response::from(reply).into_parts();
    if let Ok(marked) = ::http::Response::builder().url(url).body(()) {
        parts.extensions.extend(marked.into_parts().0.extensions);
    }
    (parts, body)
}

/// A body with a deadline, until that has passed.
struct Bounded {
    inner: Body,
    deadline: Option<BodyDeadline<TokioTime>>,
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(deadline) = &mut self.deadline else { return Poll::Pending };
        ready!(deadline.poll_passed(context));
        // The rest is of no use to anybody, so its connection is let go.
        (self.inner, self.deadline) = (Body::default(), None);
        Poll::Ready(Some(Err(late().into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

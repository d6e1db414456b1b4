//! Replies that are read within their attempt.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use ::http::response::Parts;
use ::reqwest::{Body, Response, ResponseBuilderExt};
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};

use super::SendError;
use crate::http::DRAIN_LIMIT;
use crate::{Sleep, Span, TokioTime};

/// How long a failed reply may take to be read: then a new connection is cheaper.
const DRAIN_TIME: Span = Span::from_millis(100);

/// What was read of a reply's body, for whoever judges it.
#[derive(Clone, Debug)]
pub(super) struct KnownBody(pub(super) Bytes);

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

/// Reads a failed reply, so that its connection is free for the next attempt while the call waits.
/// What was read is still in the reply, for the caller who gets it.
pub(super) async fn read_ahead(reply: Response) -> Response {
    let (mut parts, rest) = take_apart(reply);
    let mut ahead = Ahead { read: VecDeque::new(), rest };
    if ahead.rest.size_hint().lower() <= DRAIN_LIMIT {
        let mut left = DRAIN_LIMIT;
        let mut timer = pin!(TokioTime.sleep(DRAIN_TIME));
        poll_fn(|context| match ahead.poll_read(&mut left, context) {
            Poll::Pending => timer.as_mut().poll(context),
            ready => ready,
        })
        .await;
    }
    parts.extensions.insert(ahead.known());
    Response::from(::http::Response::from_parts(parts, Body::wrap(ahead)))
}

/// The reply in parts which remember its URL.
fn take_apart(reply: Response) -> (Parts, Body) {
    let url = reply.url().clone();
    let (mut parts, body) = ::http::Response::from(reply).into_parts();
    if let Ok(marked) = ::http::Response::builder().url(url).body(()) {
        parts.extensions.extend(marked.into_parts().0.extensions);
    }
    (parts, body)
}

/// A body of which something was read already. An error that was met comes in its place, or a body
/// that broke off would seem whole.
struct Ahead {
    read: VecDeque<Result<Frame<Bytes>, ::reqwest::Error>>,
    rest: Body,
}

impl Ahead {
    /// The bytes that were read.
    fn known(&self) -> KnownBody {
        let frames = self.read.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        KnownBody(
            frames
                .fold(BytesMut::new(), |mut known, bytes| {
                    known.extend_from_slice(bytes);
                    known
                })
                .freeze(),
        )
    }

    /// Ready when there is nothing more to read, or nothing `left` to read.
    fn poll_read(&mut self, left: &mut u64, context: &mut Context<'_>) -> Poll<()> {
        while *left > 0 {
            let Poll::Ready(frame) = Pin::new(&mut self.rest).poll_frame(context) else {
                return Poll::Pending;
            };
            let Some(frame) = frame else { break };
            let data = frame.as_ref().ok().and_then(Frame::data_ref);
            // OK because no target has pointers of more than 64 bits. At least one, or a body of
            // empty frames would have no bound.
            *left = left.saturating_sub(data.map_or(0, Bytes::len).max(1) as u64);
            let failed = frame.is_err();
            self.read.push_back(frame);
            if failed {
                break;
            }
        }
        Poll::Ready(())
    }
}

impl http_body::Body for Ahead {
    type Data = Bytes;
    type Error = ::reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ::reqwest::Error>>> {
        match self.read.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let frames = self.read.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        // OK because no target has pointers of more than 64 bits.
        let read = frames.map(Bytes::len).sum::<usize>() as u64;
        let rest = self.rest.size_hint();
        let mut size = SizeHint::new();
        if let Some(upper) = rest.upper() {
            size.set_upper(upper.saturating_add(read));
        }
        size.set_lower(rest.lower().saturating_add(read));
        size
    }
}

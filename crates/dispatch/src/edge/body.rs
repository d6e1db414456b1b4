//! Bodies of requests and replies, which tell the phase of their connection where they begin and end.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use stagger::{Sleep, Span, TokioTime};

use super::phase::ConnectionPhase;

/// Bytes of an unread body that are read after its reply is decided, so that the connection can be used
/// again, and the time for that: more is cheaper with a new connection.
const DRAIN_LIMIT: u64 = 64 << 10;

const DRAIN_TIME: Span = Span::from_millis(100);

/// The body of a request. The part that the handler leaves unread is handed to [`UnreadBody`].
#[derive(Debug)]
pub(super) struct RequestBody {
    body: Option<Incoming>,
    phase: Arc<ConnectionPhase>,
    unread: UnreadBody,
}

/// The place of what a handler has not read of a body.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreadBody(Arc<Mutex<Option<Incoming>>>);

impl RequestBody {
    /// The body of a request whose head has arrived.
    pub(super) fn new(body: Incoming, phase: Arc<ConnectionPhase>) -> (Self, UnreadBody) {
        if body.is_end_stream() {
            phase.reply_begins();
        } else {
            phase.body_begins();
        }
        let unread = UnreadBody::default();
        (Self { body: Some(body), phase, unread: unread.clone() }, unread)
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = Pin::new(&mut *body).poll_frame(context);
        let ended = body.is_end_stream();
        match &frame {
            Poll::Ready(Some(Ok(frame))) if !ended => {
                self.phase.body_grows(frame.data_ref().map_or(0, Bytes::len));
            }
            Poll::Ready(_) => self.phase.reply_begins(),
            Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.phase.reply_begins();
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.unread.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

impl UnreadBody {
    /// Reads a short rest of the body; false if the connection has to be closed, because more is to come.
    /// `waits` is whether the client waits for 100 Continue: it has not sent the body, and now does not have to.
    pub(super) async fn drain(self, waits: bool) -> bool {
        let body = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = body else { return true };
        let short = body.size_hint().upper().is_some_and(|bytes| bytes <= DRAIN_LIMIT);
        if !short || waits {
            return false;
        }
        tokio::select! {
            biased;
            ended = read(body) => ended,
            () = TokioTime.sleep(DRAIN_TIME) => false,
        }
    }
}

async fn read(body: Incoming) -> bool {
    let mut body = pin!(body);
    loop {
        match poll_fn(|context| body.as_mut().poll_frame(context)).await {
            Some(Ok(_)) => {}
            Some(Err(_)) => return false,
            None => return true,
        }
    }
}

/// The body of a reply. Its end is the end of the node's turn.
#[derive(Debug)]
pub(super) struct ReplyBody {
    body: Body,
    phase: Arc<ConnectionPhase>,
}

impl ReplyBody {
    pub(super) const fn new(body: Body, phase: Arc<ConnectionPhase>) -> Self {
        Self { body, phase }
    }
}

impl HttpBody for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        self.phase.reply_ends();
    }
}

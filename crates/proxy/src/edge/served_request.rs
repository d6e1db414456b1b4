//! One request and its reply on a client's connection, as the connection's time limits see it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};

use super::phase::ConnectionPhase;

/// A request that is served, until this is dropped with the end of its reply.
#[derive(Debug)]
pub(crate) struct ServedRequest(Arc<ConnectionPhase>);

/// Has the connection's time limits see that the body of a request is waited for. Among the extensions of a request.
#[derive(Clone, Debug)]
pub(crate) struct BodyWatch {
    phase: Arc<ConnectionPhase>,
    /// Whether the client's body was malformed, or ended before its end.
    broken: Arc<AtomicBool>,
}

/// The body of an attempt, which comes from the client. While it is asked for and does not come, the client is at fault.
/// Between two attempts nothing is asked for.
#[derive(Debug)]
pub(crate) struct AwaitedBody<B> {
    body: B,
    watch: Option<BodyWatch>,
    waits: bool,
}

impl ServedRequest {
    pub(super) fn begin(phase: &Arc<ConnectionPhase>, http2: bool) -> Self {
        phase.exchange_begins(http2);
        Self(Arc::clone(phase))
    }

    /// A part of the reply is there for the client, or was taken.
    pub(crate) fn reply_unread(&self, unread: bool) {
        self.0.reply_unread(unread);
    }

    /// For the body of the request.
    pub(crate) fn watch(&self) -> BodyWatch {
        BodyWatch { phase: Arc::clone(&self.0), broken: Arc::default() }
    }
}

impl BodyWatch {
    /// Whether the client's body could not be read to its end, which is the client's fault and no upstream's.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

impl Drop for ServedRequest {
    fn drop(&mut self) {
        self.0.exchange_ends();
    }
}

impl<B> AwaitedBody<B> {
    /// A body that is waited for, if it has a watch.
    pub(crate) const fn new(body: B, watch: Option<BodyWatch>) -> Self {
        Self { body, watch, waits: false }
    }

    fn mark(&mut self, waits: bool) {
        if let Some(BodyWatch { phase, .. }) = &self.watch
            && self.waits != waits
        {
            self.waits = waits;
            phase.body_awaited(waits);
        }
    }
}

impl<B: Body + Unpin> Body for AwaitedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.mark(frame.is_pending());
        if let (Poll::Ready(Some(Err(_))), Some(watch)) = (&frame, &self.watch) {
            watch.broken.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for AwaitedBody<B> {
    fn drop(&mut self) {
        self.mark(false);
    }
}

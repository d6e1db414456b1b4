//! One request and its reply on a client's connection, as the connection's time limits see it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;

use super::phase::ConnectionPhase;
use super::places::EdgePhase;

/// A request that is served, until this is dropped with the end of its reply.
#[derive(Debug)]
pub(crate) struct ServedRequest {
    phase: Arc<ConnectionPhase>,
    body: BodyWatch,
    ends: watch::Receiver<EdgePhase>,
}

/// Has the connection's time limits see that the body of a request is waited for. Among the extensions of a request.
#[derive(Clone, Debug)]
pub(crate) struct BodyWatch(Arc<WatchedBody>);

#[derive(Debug)]
struct WatchedBody {
    phase: Arc<ConnectionPhase>,
    wait: Mutex<BodyWait>,
    /// Whether the client's body was malformed, or ended before its end.
    broken: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyWait {
    /// Nothing is asked for, or what is asked for comes.
    Quiet,
    /// It is asked for and does not come.
    Awaited,
    /// The reply has begun: from here on both sides may be silent for as long as they like.
    Over,
}

/// The body of an attempt, which comes from the client. While it is asked for and does not come, the client is at fault,
/// until the reply begins. Between two attempts nothing is asked for.
#[derive(Debug)]
pub(crate) struct AwaitedBody<B> {
    body: B,
    watch: Option<BodyWatch>,
    waits: bool,
}

impl ServedRequest {
    pub(super) fn begin(
        phase: &Arc<ConnectionPhase>,
        http2: bool,
        ends: watch::Receiver<EdgePhase>,
    ) -> Self {
        phase.exchange_begins(http2);
        let wait = Mutex::new(BodyWait::Quiet);
        let body = BodyWatch(Arc::new(WatchedBody {
            phase: Arc::clone(phase),
            wait,
            broken: AtomicBool::new(false),
        }));
        Self { phase: Arc::clone(phase), body, ends }
    }

    /// The reply begins.
    pub(crate) fn answered(&self) {
        self.body.set(BodyWait::Over);
    }

    /// A part of the reply is there for the client, or was taken.
    pub(crate) fn reply_unread(&self, unread: bool) {
        self.phase.reply_unread(unread);
    }

    /// Ready when all connections end: for a tunnel, which outlives its connection's task.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ends = self.ends.clone();
        // A sender that is gone is a proxy that is gone.
        async move { _ = ends.wait_for(|phase| *phase == EdgePhase::Closed).await }
    }

    /// For the body of the request.
    pub(crate) fn watch(&self) -> BodyWatch {
        self.body.clone()
    }
}

impl Drop for ServedRequest {
    fn drop(&mut self) {
        self.phase.exchange_ends();
    }
}

impl BodyWatch {
    /// Whether the client's body could not be read to its end, which is the client's fault and no upstream's.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.broken.load(Ordering::Relaxed)
    }

    fn set(&self, wait: BodyWait) {
        let WatchedBody { phase, wait: state, .. } = &*self.0;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state == wait || *state == BodyWait::Over {
            return;
        }
        match (*state, wait) {
            (_, BodyWait::Awaited) => phase.body_awaited(true),
            (BodyWait::Awaited, _) => phase.body_awaited(false),
            _ => {}
        }
        *state = wait;
    }
}

impl<B> AwaitedBody<B> {
    /// A body that is waited for, if it has a watch.
    pub(crate) const fn new(body: B, watch: Option<BodyWatch>) -> Self {
        Self { body, watch, waits: false }
    }

    fn mark(&mut self, waits: bool) {
        if let Some(watch) = &self.watch
            && self.waits != waits
        {
            self.waits = waits;
            watch.set(if waits { BodyWait::Awaited } else { BodyWait::Quiet });
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
            watch.0.broken.store(true, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;
    use http_body_util::Empty;
    use stagger::Span;

    use super::super::phase::ClientTimes;
    use super::*;

    /// A body that never comes.
    struct Silent;

    impl Body for Silent {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Poll::Pending
        }
    }

    async fn poll<B: Body + Unpin>(body: &mut AwaitedBody<B>) {
        poll_fn(|context| Poll::Ready(_ = Pin::new(&mut *body).poll_frame(context))).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_reply_had_begun_was_cut_off_for_a_silent_client() {
        let second = Span::from_secs(1);
        let times = ClientTimes { head: second, idle: second, stall: second };
        let phase = Arc::new(ConnectionPhase::new(times));
        let request = ServedRequest::begin(&phase, true, watch::channel(EdgePhase::Open).1);
        let mut body = AwaitedBody::new(Silent, Some(request.watch()));
        poll(&mut body).await;
        assert!(phase.deadline().is_some(), "the upstream waits for the client");
        drop(body);
        assert_eq!(phase.deadline(), None, "nothing is asked for between two attempts");
        let mut body = AwaitedBody::new(Silent, Some(request.watch()));
        poll(&mut body).await;
        request.answered();
        assert_eq!(phase.deadline(), None);
        let mut late = AwaitedBody::new(Silent, Some(request.watch()));
        poll(&mut late).await;
        assert_eq!(phase.deadline(), None);
        poll(&mut AwaitedBody::new(Empty::<Bytes>::new(), Some(request.watch()))).await;
        drop((body, late));
        assert_eq!(phase.deadline(), None);
    }
}

//! The rest of a failed reply, read so that its connection can be used again.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http_body::Body;
use pin_project_lite::pin_project;

/// The most that is read of a failed reply: 64 KiB. Replies that tell of a failure are small, and
/// for a larger one a new connection is cheaper.
pub const DRAIN_LIMIT: u64 = 64 * 1024;

pin_project! {
    /// Reads and forgets a body, so that its connection can be used again.
    ///
    /// Ends when the body has ended, failed, or yielded more than the limit, and with the timer at the
    /// latest: then a new connection is cheaper. Says whether the body was read to its end.
    ///
    /// ```
    /// use std::future::pending;
    /// use bytes::Bytes;
    /// use http_body_util::Full;
    /// use stagger::http::{DRAIN_LIMIT, Drain};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let body = Full::new(Bytes::from("try again later"));
    /// assert!(Drain::new(body, DRAIN_LIMIT, pending()).await);
    /// # });
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[derive(Debug)]
    #[must_use = "nothing is read until it is polled"]
    pub struct Drain<B, T> {
        #[pin]
        body: B,
        #[pin]
        timer: T,
        left: u64,
    }
}

impl<B: Body, T: Future<Output = ()>> Drain<B, T> {
    /// Reads at most `limit` bytes of `body` before `timer` is ready.
    pub const fn new(body: B, limit: u64, timer: T) -> Self {
        Self { body, timer, left: limit }
    }
}

impl<B: Body, T: Future<Output = ()>> Future for Drain<B, T> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let parts = self.project();
        match poll_drain(parts.body, parts.left, context) {
            Poll::Pending => parts.timer.poll(context).map(|()| false),
            ready => ready,
        }
    }
}

/// Reads what there is, up to what is `left`: whether the body was read to its end.
pub(crate) fn poll_drain<B: Body>(
    mut body: Pin<&mut B>,
    left: &mut u64,
    context: &mut Context<'_>,
) -> Poll<bool> {
    // A reply without an end is not begun.
    if body.size_hint().lower() > *left {
        return Poll::Ready(false);
    }
    while !body.is_end_stream() {
        let frame = match ready!(body.as_mut().poll_frame(context)) {
            None => break,
            Some(Err(_)) => return Poll::Ready(false),
            Some(Ok(frame)) => frame,
        };
        // OK because no target has pointers of more than 64 bits. At least one, or a body of empty
        // frames would have no bound.
        let read = frame.data_ref().map_or(0, Buf::remaining).max(1) as u64;
        match left.checked_sub(read) {
            Some(rest) => *left = rest,
            None => return Poll::Ready(false),
        }
    }
    Poll::Ready(true)
}

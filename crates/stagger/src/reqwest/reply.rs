//! Replies: read within their attempt, until the deadline of their call, or while a failed call waits.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use ::http::Version;
use ::http::response::Builder;
use ::reqwest::{Body, Response, ResponseBuilderExt, Url};
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use stagger_core::Instant;

use super::SendError;
use crate::http::{DRAIN_LIMIT, DeadlineBody};
use crate::{Outcome, Sleep, Span, TokioTime};

/// Reads the whole reply, at most `limit` bytes.
pub(super) async fn buffer(mut reply: Response, limit: usize) -> Result<Response, SendError> {
    let (head, mut body) = (take_head(&mut reply, None), Body::from(reply));
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
    Ok(with_body(head, whole.freeze()))
}

/// The same reply, whose body fails when it has nothing to give at the deadline of the call. `sent` is the URL of the
/// request, if it can be taken for the reply's.
pub(super) fn bounded(mut reply: Response, until: Instant, sent: Option<Url>) -> Response {
    let size = reply.content_length();
    if size == Some(0) {
        return reply;
    }
    let head = take_head(&mut reply, sent);
    // `Response::chunk` skips trailers. A body of a stated size has none in HTTP/1 (RFC 9112 section 6.3).
    if size.is_none() || reply.version() > Version::HTTP_11 {
        let body = DeadlineBody::new(Body::from(reply), Some((TokioTime, until)));
        return with_body(head, Body::wrap(body));
    }
    let arrived = poll_chunk(&mut reply, &mut Context::from_waker(Waker::noop()));
    match arrived {
        // All of it is here, so no deadline can cut it off.
        Poll::Ready(Some(Ok(whole))) if reply.content_length() == Some(0) => with_body(head, whole),
        arrived => {
            let arrived = if let Poll::Ready(chunk) = arrived { chunk } else { None };
            let body = DeadlineBody::new(SizedBody { arrived, reply }, Some((TokioTime, until)));
            with_body(head, Body::wrap(body))
        }
    }
}

/// The head of a reply, which remembers its URL: by `sent`, if that is the same.
fn take_head(reply: &mut Response, sent: Option<Url>) -> Builder {
    let url = sent.filter(|sent| sent == reply.url()).unwrap_or_else(|| reply.url().clone());
    let mut head = ::http::Response::builder().status(reply.status()).version(reply.version());
    if let Some(headers) = head.headers_mut() {
        *headers = mem::take(reply.headers_mut());
    }
    if let Some(extensions) = head.extensions_mut() {
        *extensions = mem::take(reply.extensions_mut());
    }
    head.url(url)
}

fn with_body(head: Builder, body: impl Into<Body>) -> Response {
    let reply = head.body(body).expect("its status and version are those of a reply");
    Response::from(reply)
}

fn poll_chunk(
    reply: &mut Response,
    context: &mut Context<'_>,
) -> Poll<Option<::reqwest::Result<Bytes>>> {
    pin!(reply.chunk()).poll(context).map(Result::transpose)
}

/// The body of a reply of a stated size, without trailers. It is read out of the reply, because reqwest boxes a body that
/// is taken out of one.
struct SizedBody {
    /// The chunk that was there when the head was.
    arrived: Option<::reqwest::Result<Bytes>>,
    reply: Response,
}

impl http_body::Body for SizedBody {
    type Data = Bytes;
    type Error = ::reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ::reqwest::Error>>> {
        let chunk = match self.arrived.take() {
            Some(arrived) => Some(arrived),
            None => ready!(poll_chunk(&mut self.reply, context)),
        };
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.arrived.is_none() && self.reply.content_length() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        let arrived = self.arrived.as_ref().and_then(|chunk| chunk.as_ref().ok());
        // OK because no target has pointers of more than 64 bits.
        let arrived = arrived.map_or(0, Bytes::len) as u64;
        let rest = self.reply.content_length();
        rest.map_or_else(SizeHint::default, |rest| SizeHint::with_exact(rest + arrived))
    }
}

/// The time limit for reading a failed reply: after it a new connection is cheaper.
pub(super) const DRAIN_TIME: Span = Span::from_millis(100);

/// A body that the reply and the call share. What the call has read is still in the reply, for the
/// caller who gets it.
#[derive(Clone)]
pub(super) struct FailedBody {
    ahead: Arc<Mutex<ReadAhead>>,
    /// The outcome of the reply by its status and its headers.
    outcome: Outcome,
}

/// A body of which something was read already. An error that was met comes in its place, or a body
/// that broke off would seem whole.
struct ReadAhead {
    read: VecDeque<Result<Frame<Bytes>, ::reqwest::Error>>,
    rest: Body,
    /// The bytes that may still be read ahead.
    room: u64,
}

impl FailedBody {
    /// The same reply, with a body that can be read ahead, and with its outcome.
    pub(super) fn share(mut reply: Response, outcome: Outcome) -> Response {
        let (head, rest) = (take_head(&mut reply, None), Body::from(reply));
        let ahead = ReadAhead { read: VecDeque::new(), rest, room: DRAIN_LIMIT };
        let body = Self { ahead: Arc::new(Mutex::new(ahead)), outcome };
        with_body(head.extension(body.clone()), Body::wrap(body))
    }

    /// Leaves the body to the caller that gets the reply.
    pub(super) fn hand_over(reply: &mut Response) {
        reply.extensions_mut().remove::<Self>();
    }

    /// The body of a reply that is shared.
    pub(super) fn of(reply: &Response) -> Option<&Self> {
        reply.extensions().get()
    }

    /// The outcome of the reply by its status and its headers.
    pub(super) const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Reads ahead for at most `limit`: the connection is free when the whole body was read.
    pub(super) fn drain(&self, limit: Span) -> Drain {
        Drain { body: self.clone(), timer: Box::pin(TokioTime.sleep(limit)) }
    }

    /// The bytes that were read ahead.
    pub(super) fn known(&self) -> Bytes {
        let ahead = self.lock();
        let frames = ahead.read.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        let mut known = BytesMut::new();
        frames.for_each(|bytes| known.extend_from_slice(bytes));
        known.freeze()
    }

    /// A body that panicked is not read on by anybody who minds.
    fn lock(&self) -> MutexGuard<'_, ReadAhead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadAhead {
    /// Ready when there is nothing more to read, or no room for it.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.rest.size_hint().lower() > self.room {
            return Poll::Ready(());
        }
        while self.room > 0 {
            let Poll::Ready(frame) = Pin::new(&mut self.rest).poll_frame(context) else {
                return Poll::Pending;
            };
            let Some(frame) = frame else { break };
            let data = frame.as_ref().ok().and_then(Frame::data_ref);
            // OK because no target has pointers of more than 64 bits. At least one, or a body of
            // empty frames would have no bound.
            self.room = self.room.saturating_sub(data.map_or(0, Bytes::len).max(1) as u64);
            let failed = frame.is_err();
            self.read.push_back(frame);
            if failed {
                break;
            }
        }
        Poll::Ready(())
    }
}

impl http_body::Body for FailedBody {
    type Data = Bytes;
    type Error = ::reqwest::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ::reqwest::Error>>> {
        let mut ahead = self.lock();
        match ahead.read.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => Pin::new(&mut ahead.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        let ahead = self.lock();
        ahead.read.is_empty() && ahead.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = self.lock();
        let frames = ahead.read.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        // OK because no target has pointers of more than 64 bits.
        let read = frames.map(Bytes::len).sum::<usize>() as u64;
        let rest = ahead.rest.size_hint();
        let mut size = SizeHint::new();
        if let Some(upper) = rest.upper() {
            size.set_upper(upper.saturating_add(read));
        }
        size.set_lower(rest.lower().saturating_add(read));
        size
    }
}

/// Reads a failed reply ahead, until its end or for a limited time.
pub(super) struct Drain {
    body: FailedBody,
    timer: Pin<Box<<TokioTime as Sleep>::Timer>>,
}

impl Future for Drain {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let read = self.body.lock().poll_read(context);
        if read.is_ready() { read } else { self.timer.as_mut().poll(context) }
    }
}

//! The request of a call, sent as often as its attempts need it: headers, and a body that is kept.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::fmt;
use std::mem::size_of;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use ::http::{HeaderMap, HeaderName, HeaderValue, Request, request};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use tonic::Status;
use tonic::body::Body;

use super::calls::RequestSettings;
use super::kept_head::KeptHead;
use super::timeout;
use crate::AttemptInfo;
use crate::http::{AttemptHeaders, previous_attempts};
#[cfg(feature = "metrics")]
use crate::{
    Span,
    observe::{GrpcAttempts, grpc_call},
};

/// The number of attempts before this one (gRFC A6, "Exposed Retry Metadata").
const PREVIOUS_ATTEMPTS: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");

/// A request that any number of attempts send, one after the other or at the same time.
///
/// The first one is never delayed: its body passes through, and what has passed is kept up to a
/// limit. Above the limit nothing is kept, and the attempt that was ahead goes on alone. Unlike the
/// body that only attempts one after the other send, this one is read by whichever copy is ahead: the copies of a hedged call start before it has ended.
#[derive(Clone)]
pub(super) struct GrpcRequest {
    kept: Arc<KeptRequest>,
}

/// One allocation for all that the attempts of a call share.
struct KeptRequest {
    /// The caller's own head, which the first attempt sends.
    first: Mutex<Option<request::Parts>>,
    head: KeptHead,
    body: Mutex<SharedBody>,
    attempt_headers: AttemptHeaders,
    /// The last number given to a copy, by which attempts are told apart.
    copies: AtomicU64,
    /// The delays between attempts, in nanoseconds.
    #[cfg(feature = "metrics")]
    delay: AtomicU64,
}

/// The body as far as it has been read from the caller.
struct SharedBody {
    source: Option<Body>,
    /// The kept frames, of which the first is the frame number `base`.
    kept: VecDeque<BodyPart>,
    base: usize,
    bytes: usize,
    room: usize,
    keeps: bool,
    /// The copies that wait for the caller, by their numbers.
    waiting: Vec<(u64, Waker)>,
    overtaken: Vec<u64>,
}

#[derive(Clone)]
enum BodyPart {
    Data(Bytes),
    Trailers(HeaderMap),
}

/// The body of one attempt.
struct BodyCopy {
    kept: Arc<KeptRequest>,
    next: usize,
    id: u64,
}

/// An attempt whose body was not kept, because another one was ahead of it.
#[derive(Debug)]
pub(super) struct Overtaken;

impl GrpcRequest {
    /// A request that is kept and sent as `settings` say.
    pub(super) fn new(request: Request<Body>, settings: RequestSettings) -> Self {
        let RequestSettings { buffer: room, attempt_headers } = settings;
        let (parts, body) = request.into_parts();
        let body = SharedBody {
            source: Some(body),
            kept: VecDeque::new(),
            base: 0,
            bytes: 0,
            room,
            keeps: true,
            waiting: Vec::new(),
            overtaken: Vec::new(),
        };
        let head = KeptHead::of(&parts);
        let (first, body) = (Mutex::new(Some(parts)), Mutex::new(body));
        let copies = AtomicU64::new(0);
        #[cfg(feature = "metrics")]
        let delay = AtomicU64::new(0);
        Self {
            kept: Arc::new(KeptRequest {
                first,
                head,
                body,
                attempt_headers,
                copies,
                #[cfg(feature = "metrics")]
                delay,
            }),
        }
    }

    /// The request of one attempt, and the number that tells its body from the others.
    pub(super) fn attempt(&self, info: &AttemptInfo) -> (Request<Body>, u64) {
        let KeptRequest { first, head, attempt_headers, copies, .. } = &*self.kept;
        let id = copies.fetch_add(1, Ordering::Relaxed);
        let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut parts = first.unwrap_or_else(|| head.again());
        let previous = info.number.saturating_sub(1).saturating_add(previous_attempts());
        if previous > 0 {
            parts.headers.insert(PREVIOUS_ATTEMPTS, HeaderValue::from(previous));
        }
        attempt_headers.write(info, &mut parts.headers);
        // Extensions are three allocations, and of a first attempt the head tells enough.
        if info.number > 1 {
            parts.extensions.insert(*info);
        }
        if let Some(left) = info.remaining {
            timeout::tell(&mut parts.headers, left);
        }
        let copy = BodyCopy { kept: Arc::clone(&self.kept), next: 0, id };
        (Request::from_parts(parts, Body::new(copy)), id)
    }

    /// Another attempt follows after this delay.
    #[cfg(feature = "metrics")]
    pub(super) fn add_delay(&self, delay: Span) {
        self.kept.delay.fetch_add(delay.as_nanos(), Ordering::Relaxed);
    }

    /// Records the call, which has ended after `attempts` that count.
    #[cfg(feature = "metrics")]
    pub(super) fn record(&self, attempts: u32, (name, hedged): (Option<&'static str>, bool)) {
        let copies = self.kept.copies.load(Ordering::Relaxed);
        let further = attempts.saturating_sub(1);
        let attempts = GrpcAttempts {
            retries: if hedged { 0 } else { further },
            transparent_retries: u32::try_from(copies).unwrap_or(u32::MAX).saturating_sub(attempts),
            hedges: if hedged { further } else { 0 },
            retry_delay: Span::from_nanos(self.kept.delay.load(Ordering::Relaxed)),
        };
        if attempts == GrpcAttempts::default() {
            return;
        }
        // Only generated clients name a method of which there is a bounded number.
        let method = self.kept.head.method();
        let method = method.map(|method| format!("{}/{}", method.service(), method.method()));
        let target = self.kept.head.uri().authority().map_or(name, |server| Some(server.as_str()));
        let target = target.unwrap_or("other").to_owned();
        grpc_call(method.unwrap_or_else(|| "other".to_owned()), target, &attempts);
    }

    /// Whether a further attempt could send equal bytes: nothing was let go that it would need.
    pub(super) fn is_replayable(&self) -> bool {
        locked(&self.kept.body).base == 0
    }

    /// Nothing need be kept from here on.
    pub(super) fn commit(&self) {
        locked(&self.kept.body).keeps = false;
    }

    /// Whether this body could not be sent to its end, because another one was ahead of it.
    pub(super) fn is_overtaken(&self, copy: u64) -> bool {
        locked(&self.kept.body).overtaken.contains(&copy)
    }
}

impl SharedBody {
    /// The next part for `copy`; read from the caller when no other copy has read it before.
    fn poll(
        &mut self,
        copy: (&mut usize, u64),
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyPart, Status>>> {
        let (next, id) = copy;
        loop {
            let Some(at) = next.checked_sub(self.base) else {
                self.overtaken.push(id);
                return Poll::Ready(Some(Err(Status::unavailable(Overtaken.to_string()))));
            };
            if let Some(part) = self.kept.get(at).cloned() {
                *next += 1;
                if !self.keeps {
                    self.let_go(*next);
                }
                return Poll::Ready(Some(Ok(part)));
            }
            let Some(source) = &mut self.source else { return Poll::Ready(None) };
            let Poll::Ready(read) = Pin::new(source).poll_frame(context) else {
                self.waiting.retain(|(waiter, _)| *waiter != id);
                self.waiting.push((id, context.waker().clone()));
                return Poll::Pending;
            };
            self.wake();
            match read {
                None => self.source = None,
                Some(Ok(frame)) => self.take(frame, *next),
                Some(Err(status)) => {
                    self.source = None;
                    self.let_go(*next + 1);
                    return Poll::Ready(Some(Err(status)));
                }
            }
        }
    }

    /// Keeps a frame; above the limit only for the attempt that is at `next`, which asked for it.
    fn take(&mut self, frame: Frame<Bytes>, next: usize) {
        let part = match frame.into_data() {
            Ok(data) => BodyPart::Data(data),
            Err(frame) => BodyPart::Trailers(frame.into_trailers().unwrap_or_default()),
        };
        self.bytes = self.bytes.saturating_add(part.cost());
        if self.keeps && self.bytes > self.room {
            self.keeps = false;
            self.let_go(next);
        }
        self.kept.push_back(part);
    }

    /// Forgets the parts before `next`.
    fn let_go(&mut self, next: usize) {
        let gone = next.saturating_sub(self.base).min(self.kept.len());
        self.kept.drain(..gone);
        self.base = self.base.max(next);
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(|(_, waker)| waker.wake());
    }
}

impl BodyPart {
    /// The memory that it takes. Never zero, or frames without bytes would have no bound.
    fn cost(&self) -> usize {
        match self {
            Self::Data(data) => data.len().max(size_of::<Bytes>()),
            Self::Trailers(trailers) => {
                let lines = trailers.iter().map(|(name, value)| name.as_str().len() + value.len());
                lines.sum::<usize>().max(size_of::<Bytes>())
            }
        }
    }
}

impl HttpBody for BodyCopy {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self { kept, next, id } = self.get_mut();
        let part = ready!(locked(&kept.body).poll((next, *id), context));
        Poll::Ready(part.map(|part| {
            part.map(|part| match part {
                BodyPart::Data(data) => Frame::data(data),
                BodyPart::Trailers(trailers) => Frame::trailers(trailers),
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        let body = locked(&self.kept.body);
        let ended = body.source.as_ref().is_none_or(HttpBody::is_end_stream);
        ended && self.next == body.base + body.kept.len()
    }
}

/// The caller's body wakes the attempt that asked last: when that one goes, the others ask anew.
impl Drop for BodyCopy {
    fn drop(&mut self) {
        locked(&self.kept.body).wake();
    }
}

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request is larger than what is kept of it, and another copy was ahead")
    }
}

impl StdError for Overtaken {}

/// A panic of the caller's body has left the body as it was before.
fn locked(body: &Mutex<SharedBody>) -> MutexGuard<'_, SharedBody> {
    body.lock().unwrap_or_else(PoisonError::into_inner)
}

//! One attempt of a call: its request, and the meaning of its result.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use ::http::{HeaderMap, Version};
use ::reqwest::{Body, Method, Request, Response, Url};
use stagger_core::classify::sources;
use stagger_core::hint::retry_delay;
use stagger_core::{Cause, Hint, Instant, Outcome, Verdict};

use super::reply::{DRAIN_TIME, Drain, FailedBody};
use super::transport::of_reqwest;
use super::{ClientOptions, SendError};
use crate::http::{Overtaken, Replayable, classify_transport};
use crate::observe::HttpTarget;
use crate::run::UNKNOWN;
use crate::{AttemptEnd, Classifier, Clock, NextStep, TokioTime};

/// What is kept of a request for further attempts.
#[derive(Debug)]
pub(super) struct ReplayableRequest {
    /// The caller's own, until the first attempt sends it.
    first: Mutex<Option<Request>>,
    kept: KeptRequest,
    stream: Option<Replayable<Body>>,
}

/// A request that can be copied.
#[derive(Debug)]
enum KeptRequest {
    /// One without a time limit, and without bytes for a body.
    Head { method: Method, url: Url, headers: HeaderMap, version: Version },
    /// Any other: only reqwest can copy it, and allocates a place for a time limit even where there is none.
    Whole(Request),
}

impl ReplayableRequest {
    /// Keeps what further attempts need of a request, and up to `limit` bytes of a stream, for one attempt at a time or
    /// for `copies` beside each other.
    pub(super) fn new(mut request: Request, limit: usize, copies: bool) -> Self {
        let streams = request.body().is_some_and(|body| body.as_bytes().is_none());
        let body = if streams { request.body_mut().take() } else { None };
        let keep = if copies { Replayable::shared } else { Replayable::new };
        let stream = body.map(|body| keep(body, limit));
        let kept = KeptRequest::of(&request);
        Self { first: Mutex::new(Some(request)), kept, stream }
    }

    /// The request as a span tells of it.
    pub(super) fn target(&self) -> HttpTarget<'_> {
        let (method, url) = match &self.kept {
            KeptRequest::Head { method, url, .. } => (method.as_str(), url),
            KeptRequest::Whole(request) => (request.method().as_str(), request.url()),
        };
        let (address, port) = (url.host_str().map(str::to_owned), url.port_or_known_default());
        HttpTarget { method, url: url.to_string(), address, port }
    }

    pub(super) fn is_replayable(&self) -> bool {
        self.stream.as_ref().is_none_or(Replayable::is_replayable)
    }

    /// The request of one more attempt; `None` when bytes of it are gone.
    pub(super) fn attempt(&self) -> Option<Request> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut request = first.or_else(|| self.kept.copy())?;
        if let Some(stream) = &self.stream {
            *request.body_mut() = Some(Body::wrap(stream.attempt()?));
        }
        Some(request)
    }

    /// The URL, where it is kept by itself.
    pub(super) fn into_url(self) -> Option<Url> {
        if let KeptRequest::Head { url, .. } = self.kept { Some(url) } else { None }
    }
}

impl KeptRequest {
    fn of(request: &Request) -> Self {
        if request.timeout().is_some() || request.body().is_some() {
            if let Some(request) = request.try_clone() {
                return Self::Whole(request);
            }
        }
        let (method, url) = (request.method().clone(), request.url().clone());
        Self::Head { method, url, headers: request.headers().clone(), version: request.version() }
    }

    fn copy(&self) -> Option<Request> {
        match self {
            Self::Head { method, url, headers, version } => {
                let mut request = Request::new(method.clone(), url.clone());
                request.headers_mut().clone_from(headers);
                *request.version_mut() = *version;
                Some(request)
            }
            Self::Whole(request) => request.try_clone(),
        }
    }
}

/// Classifies the attempts of one call, and reads the failed replies that another attempt follows.
pub(super) struct BySend<'c> {
    pub(super) options: &'c ClientOptions,
    pub(super) kept: &'c ReplayableRequest,
    /// The deadline of the call.
    pub(super) until: Option<Instant>,
    /// The failed reply that is read while the call waits.
    pub(super) drain: Option<Drain>,
}

impl Classifier<Response, SendError> for BySend<'_> {
    fn classify(&mut self, result: &Result<Response, SendError>) -> Outcome {
        let mut outcome = match result {
            Ok(reply) => self.of_reply(reply),
            Err(SendError::NotReplayable) => NOT_SENT,
            Err(SendError::Reqwest(error)) if is_overtaken(error) => NOT_SENT,
            Err(SendError::Reqwest(error)) => of_reqwest(error, &self.options.transport),
            Err(SendError::Middleware(error)) => classify_transport(&**error).unwrap_or(UNKNOWN),
            Err(SendError::TooLarge { .. }) => UNKNOWN,
        };
        outcome.replayable &= self.kept.is_replayable();
        outcome
    }

    fn on_attempt(&mut self, attempt: &AttemptEnd<'_, Response, SendError>) {
        if let Some(observer) = &self.options.on_attempt {
            observer(attempt);
        }
        self.drain = match (attempt.next, attempt.result) {
            (NextStep::Retry(_), Some(Ok(reply))) => self.drain(reply),
            _ => None,
        };
    }

    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(drain) = &mut self.drain {
            ready!(Pin::new(drain).poll(context));
            self.drain = None;
        }
        Poll::Ready(())
    }
}

impl BySend<'_> {
    /// A reply without a failed body has succeeded. Of the others the provider knows best, where it
    /// knows anything.
    fn of_reply(&self, reply: &Response) -> Outcome {
        let Some(body) = FailedBody::of(reply) else { return Outcome::OK };
        if !self.options.reads_bodies() {
            return body.outcome();
        }
        let known = body.known();
        let said = self.options.provider.as_ref();
        let said = said.and_then(|said| said(reply.status(), reply.headers(), &known));
        said.unwrap_or_else(|| {
            let mut outcome = body.outcome();
            outcome.hint = outcome.hint.or_else(|| Some(Hint::AtLeast(retry_delay(&known)?)));
            outcome
        })
    }

    /// Never for longer than the call has.
    fn drain(&self, reply: &Response) -> Option<Drain> {
        let left = self.until.map_or(DRAIN_TIME, |until| until - TokioTime.now());
        Some(FailedBody::of(reply)?.drain(left.min(DRAIN_TIME)))
    }
}

/// An attempt that could not send the whole body, because the bytes are gone, or because another copy
/// was ahead. It says nothing against that copy.
const NOT_SENT: Outcome =
    Outcome::new(Verdict::Transient).with_cause(Cause::Transport).not_replayable();

fn is_overtaken(error: &::reqwest::Error) -> bool {
    sources(error).any(|error| error.is::<Overtaken>())
}

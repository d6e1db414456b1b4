//! A request that is kept, and becomes the request of each attempt.

use ::reqwest::{Body, Request};

use crate::http::Replayable;

/// A request's head, and its body if that has to be kept while it is sent.
#[derive(Debug)]
pub(super) struct ReplayableRequest {
    request: Request,
    stream: Option<Replayable<Body>>,
}

impl ReplayableRequest {
    /// Keeps up to `limit` bytes of a stream, for one attempt at a time or for `copies` beside each
    /// other.
    pub(super) fn new(mut request: Request, limit: usize, copies: bool) -> Self {
        let streams = request.body().is_some_and(|body| body.as_bytes().is_none());
        let body = if streams { request.body_mut().take() } else { None };
        let keep = if copies { Replayable::shared } else { Replayable::new };
        Self { request, stream: body.map(|body| keep(body, limit)) }
    }

    pub(super) fn is_replayable(&self) -> bool {
        self.stream.as_ref().is_none_or(Replayable::is_replayable)
    }

    /// The request of one more attempt; `None` when bytes of it are gone.
    pub(super) fn attempt(&self) -> Option<Request> {
        let mut request = self.request.try_clone()?;
        if let Some(stream) = &self.stream {
            *request.body_mut() = Some(Body::wrap(stream.attempt()?));
        }
        Some(request)
    }
}

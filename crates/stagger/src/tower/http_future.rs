//! The future of an HTTP call: gives the reply's body the deadline of the call.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::Response;
use http_body::Body;
use pin_project_lite::pin_project;
use stagger_core::retry::Ledger;
use stagger_core::{Instant, Span};
use tower_service::Service;

use super::{DeadlineBody, FailedReplies, Outgoing, ResponseFuture, ServiceError};
use crate::{Classifier, Sleep};

pin_project! {
    /// One call under way through an [`HttpService`](super::HttpService).
    ///
    /// Dropping it ends the call, as with [`ResponseFuture`]. The first attempt starts at the first
    /// poll, and the deadline counts from there.
    #[must_use = "a call does nothing until it is polled"]
    pub struct HttpFuture<S, K, J, Z, L>
    where
        K: Outgoing,
        S: Service<K::Request>,
        Z: Sleep,
    {
        #[pin]
        call: ResponseFuture<S, K, J, Z, L>,
        time: Z,
        limit: BodyLimit,
    }
}

/// The deadline of the call: a length until the first poll, an instant from then on.
#[derive(Clone, Copy)]
enum BodyLimit {
    Within(Span),
    Until(Instant),
    None,
}

impl<S, K, J, Z, L> HttpFuture<S, K, J, Z, L>
where
    K: Outgoing,
    S: Service<K::Request>,
    Z: Sleep,
{
    pub(super) fn new(
        call: ResponseFuture<S, K, J, Z, L>,
        time: Z,
        deadline: Option<Span>,
    ) -> Self {
        Self { call, time, limit: deadline.map_or(BodyLimit::None, BodyLimit::Within) }
    }
}

impl<S, K, J, Z, L, B> Future for HttpFuture<S, K, J, Z, L>
where
    K: Outgoing + FailedReplies<Response<B>>,
    S: Service<K::Request, Response = Response<B>>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body,
    Z: Sleep + Clone,
    for<'l> &'l L: Ledger,
    J: Classifier<Response<B>, S::Error>,
{
    type Output = Result<Response<DeadlineBody<B, Z>>, ServiceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let parts = self.project();
        if let BodyLimit::Within(span) = *parts.limit {
            *parts.limit = BodyLimit::Until(parts.time.now() + span);
        }
        let reply = ready!(parts.call.poll(context))?;
        let until = match *parts.limit {
            BodyLimit::Until(until) => Some((parts.time.clone(), until)),
            BodyLimit::Within(_) | BodyLimit::None => None,
        };
        Poll::Ready(Ok(reply.map(|body| DeadlineBody::new(body, until))))
    }
}

impl<S, K, J, Z, L> fmt::Debug for HttpFuture<S, K, J, Z, L>
where
    K: Outgoing,
    S: Service<K::Request>,
    Z: Sleep,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFuture").finish_non_exhaustive()
    }
}

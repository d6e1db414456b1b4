//! The service for HTTP: one call for each request, whose reply has the deadline of the call.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{fmt, mem};

use ::http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use stagger_core::retry::Ledger;
use stagger_core::{Instant, Span};
use tower_layer::Layer;
use tower_service::Service;

use super::{
    FailedReplies, HttpLayer, HttpRequest, Idempotent, Outgoing, Prepare, Refresh, ResponseFuture,
    ServiceError, Unchanged,
};
use crate::http::{ByMethod, CallerDeadline, DeadlineBody, HttpReplies, Replay};
use crate::run::ActiveCall;
use crate::{Classifier, Ledgers, LocalLedger, Retrier, Sleep};

/// An HTTP service whose calls are made under a policy; made by [`HttpLayer`].
///
/// Clones share budgets and breakers, of which each destination has its own: see
/// [`StaggerLayer::http`](super::StaggerLayer::http).
#[derive(Debug)]
pub struct HttpService<
    S,
    Z,
    L = LocalLedger,
    J = HttpReplies,
    D = ByMethod,
    H = Unchanged,
    R = Unchanged,
> {
    inner: S,
    layer: HttpLayer<Z, L, J, D, H, R>,
}

impl<S, Z, L, J, D, H, R> HttpService<S, Z, L, J, D, H, R> {
    pub(super) const fn new(inner: S, layer: HttpLayer<Z, L, J, D, H, R>) -> Self {
        Self { inner, layer }
    }

    /// See [`HttpLayer::retrier`].
    #[must_use]
    pub fn retrier(&self) -> &Retrier<Z, L> {
        self.layer.retrier()
    }

    /// See [`HttpLayer::ledgers`].
    #[must_use]
    pub fn ledgers(&self) -> Option<&Ledgers> {
        self.layer.ledgers()
    }
}

impl<S, Z, L, J, D, H, R> Layer<S> for HttpLayer<Z, L, J, D, H, R>
where
    J: Clone,
    D: Clone,
    H: Clone,
    R: Clone,
{
    type Service = HttpService<S, Z, L, J, D, H, R>;

    fn layer(&self, inner: S) -> Self::Service {
        HttpService::new(inner, self.clone())
    }
}

impl<S, B, C, Z, L, J, D, H, R> Service<Request<B>> for HttpService<S, Z, L, J, D, H, R>
where
    S: Service<Request<Replay<B>>, Response = Response<C>> + Clone,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body,
    C: Body + Unpin,
    Z: Sleep + Clone,
    for<'l> &'l L: Ledger,
    J: Classifier<Response<C>, S::Error> + Clone,
    D: Idempotent<Request<B>>,
    H: Prepare + Clone,
    R: Refresh + Clone,
{
    type Response = Response<DeadlineBody<C, Z>>;
    type Error = ServiceError;
    type Future = HttpFuture<S, HttpRequest<B, H, R>, J, Z, L>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ServiceError>> {
        self.inner.poll_ready(context).map_err(ServiceError::not_ready)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // A clone may not be ready: the one that is makes the call.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let asked = request.extensions().get::<CallerDeadline>();
        let shorter = asked.and_then(|asked| self.layer.retrier().within(asked.0));
        let retrier = shorter.map_or_else(|| Arc::clone(self.layer.shared_retrier()), Arc::new);
        let (time, deadline) = (retrier.time().clone(), retrier.policy().limits().deadline());
        let ledger = self.layer.ledger_of(&request);
        let (outgoing, idempotent) = self.layer.outgoing(request);
        let call = ActiveCall::new(retrier, ledger, idempotent);
        let call = ResponseFuture::new(call, ready, outgoing, self.layer.classifier());
        HttpFuture::new(call, time, deadline)
    }
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<S, Z, L, J, D, H, R> Clone for HttpService<S, Z, L, J, D, H, R>
where
    S: Clone,
    HttpLayer<Z, L, J, D, H, R>: Clone,
{
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

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

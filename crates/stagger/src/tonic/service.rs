//! The service: one call for each request.

use std::error::Error as StdError;
use std::mem;
use std::task::{Context, Poll};

use ::http::{Request, Response, Uri};
use http_body::Body as HttpBody;
use stagger_core::retry::Ledger;
use tonic::body::Body;
use tower_service::Service;

use super::calls::GrpcCalls;
use super::{ByServiceConfig, CallError, GrpcBody, ResponseFuture, future, timeout};
use crate::tower::Idempotent;
use crate::{LocalLedger, Retrier, Sleep};

/// A channel whose calls are made under a policy: what generated clients are built on.
///
/// `GreeterClient::new(Grpc::new(channel, retrier))`, or a [`GrpcLayer`](super::GrpcLayer) for a
/// service config and for several channels. Clones share budget and breaker. Only failures that the
/// server cannot have acted on are retried, until [`Grpc::idempotent`] allows more.
#[derive(Debug)]
pub struct Grpc<S, Z, L = LocalLedger, D = ByServiceConfig> {
    inner: S,
    calls: GrpcCalls<Z, L, D>,
}

impl<S, Z, L> Grpc<S, Z, L> {
    /// GrpcCalls through `channel` by `retrier`.
    pub fn new(channel: S, retrier: Retrier<Z, L>) -> Self {
        Self::of(channel, GrpcCalls::new(retrier))
    }
}

impl<S, Z, L, D> Grpc<S, Z, L, D> {
    pub(super) const fn of(inner: S, calls: GrpcCalls<Z, L, D>) -> Self {
        Self { inner, calls }
    }

    /// Decides which methods may be called twice, as
    /// [`GrpcLayer::idempotent`](super::GrpcLayer::idempotent).
    ///
    /// ```
    /// use http::Uri;
    /// use stagger::tonic::Grpc;
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let service = Grpc::new("a channel", Retrier::new(Policy::default(), TokioTime));
    /// let service = service.idempotent(|method: &Uri| method.path().contains("/Get"));
    /// assert_eq!(service.retrier().policy(), &Policy::default());
    /// ```
    #[must_use]
    pub fn idempotent<C>(self, decide: C) -> Grpc<S, Z, L, C> {
        Grpc { inner: self.inner, calls: self.calls.idempotent(decide) }
    }

    /// The policy of methods without an entry, and the ledger of all of them.
    #[must_use]
    pub const fn retrier(&self) -> &Retrier<Z, L> {
        &self.calls.retrier
    }
}

impl<S, B, Z, L, D> Service<Request<Body>> for Grpc<S, Z, L, D>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    S::Future: Send + 'static,
    B: HttpBody<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    Z: Sleep + Clone + Send + Sync + 'static,
    Z::Timer: Send,
    L: Send + Sync + 'static,
    for<'l> &'l L: Ledger,
    D: Idempotent<Uri>,
{
    type Response = Response<GrpcBody<B, Z>>;
    type Error = CallError;
    type Future = ResponseFuture<B, Z>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(context).map_err(|error| CallError::not_ready(error.into()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // A clone may not be ready: the one that is makes the first attempt.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let rules = self.calls.rules(request.uri(), timeout::asked(request.headers()));
        ResponseFuture::new(future::call(ready, rules, request))
    }
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<S: Clone, Z: Clone, L, D: Clone> Clone for Grpc<S, Z, L, D> {
    fn clone(&self) -> Self {
        Self::of(self.inner.clone(), self.calls.clone())
    }
}

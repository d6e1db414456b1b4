//! The layer that wraps channels, and its service for the clients that tonic generates.

use std::error::Error as StdError;
use std::mem;
use std::task::{Context, Poll};

use ::http::{Request, Response, Uri};
use http_body::Body as HttpBody;
use stagger_core::retry::Ledger;
use stagger_core::service_config::ServiceConfig;
use tonic::body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::calls::GrpcCalls;
use super::{ByServiceConfig, CallError, ResponseFuture, future, timeout};
use crate::http::{AttemptHeaders, DeadlineBody};
use crate::tower::Idempotent;
use crate::{LocalLedger, Retrier, Sleep};

/// Makes the calls of a channel under a policy.
///
/// Keep one for each server name: all its channels share budget and breaker. Where one layer serves
/// several servers, give each client an origin: see [Servers](super#servers). `D` decides which methods
/// may be called twice.
///
/// ```
/// use stagger::tonic::GrpcLayer;
/// use stagger::{Policy, Retrier, TokioTime};
/// use tonic::transport::Channel;
/// use tower::ServiceBuilder;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let layer = GrpcLayer::new(Retrier::new(Policy::default(), TokioTime));
/// let channel = Channel::from_static("http://localhost:50051").connect_lazy();
/// let service = ServiceBuilder::new().layer(layer).service(channel);
/// // let mut client = GreeterClient::new(service);
/// assert_eq!(service.retrier().policy(), &Policy::default());
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a layer does nothing until it wraps a channel"]
pub struct GrpcLayer<Z, L = LocalLedger, D = ByServiceConfig> {
    calls: GrpcCalls<Z, L, D>,
}

impl<Z, L> GrpcLayer<Z, L> {
    /// GrpcCalls by `retrier`, all methods under its policy. Only failures that the server cannot have
    /// acted on are retried, until a [service config](Self::service_config) or
    /// [`idempotent`](Self::idempotent) allows more.
    pub fn new(retrier: Retrier<Z, L>) -> Self {
        Self { calls: GrpcCalls::new(retrier) }
    }
}

impl<Z, L, D> GrpcLayer<Z, L, D> {
    /// Takes attempts, delays, deadline, copies and the retried codes of each method from a service
    /// config, and one budget for all of them from its `retryThrottling`, as gRFC A6 says.
    ///
    /// Of the policy before remain what a service config cannot say: time limit of one attempt,
    /// breaker, hints, and the deadline of methods without a `timeout`. A method without an entry gets
    /// one attempt. The ledger is a new one, because budgets of two kinds cannot share one;
    /// [`service_config_beside`](Self::service_config_beside) keeps that of the retrier.
    ///
    /// ```
    /// use stagger::service_config::ServiceConfig;
    /// use stagger::tonic::GrpcLayer;
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let config: ServiceConfig = serde_json::from_str(r#"{
    ///     "methodConfig": [{
    ///         "name": [{ "service": "store.Orders" }],
    ///         "retryPolicy": {
    ///             "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s",
    ///             "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]
    ///         }
    ///     }],
    ///     "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 }
    /// }"#)?;
    /// let retrier = Retrier::new(Policy::default(), TokioTime);
    /// let layer = GrpcLayer::new(retrier).service_config(config);
    /// # let _ = layer;
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn service_config(self, config: ServiceConfig) -> GrpcLayer<Z, LocalLedger, D> {
        GrpcLayer { calls: self.calls.configured(config) }
    }

    /// Takes the policy of each method from a service config, as [`service_config`](Self::service_config), and keeps
    /// the ledger of the retrier: budget and breaker are shared with the other calls of that ledger.
    ///
    /// The budget is then that of the retrier's policy. For that of `retryThrottling`, make the policy and its ledger
    /// with [`ServiceConfig::throttling`] as their budget.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stagger::service_config::ServiceConfig;
    /// use stagger::tonic::GrpcLayer;
    /// use stagger::{LocalLedger, Policy, Retrier, TokioTime};
    /// let config: ServiceConfig = serde_json::from_str(
    ///     r#"{ "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 } }"#,
    /// )?;
    /// let throttling = config.throttling().ok_or("it throttles")?;
    /// let policy = Policy::builder().budget(throttling).build()?;
    /// let ledger = Arc::new(LocalLedger::new(&policy));
    /// let retrier = Retrier::new(policy, TokioTime).with_ledger(Arc::clone(&ledger));
    /// let layer = GrpcLayer::new(retrier).service_config_beside(config);
    /// assert_eq!(Arc::strong_count(&ledger), 2, "the layer has it too");
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn service_config_beside(self, config: ServiceConfig) -> Self {
        Self { calls: self.calls.configured_beside(config) }
    }

    /// Decides by the address which method may be called twice. Of the others only failures
    /// that the server cannot have acted on are retried. Default: the methods that a service config
    /// lists, and none without one.
    ///
    /// ```
    /// use http::Uri;
    /// use stagger::tonic::GrpcLayer;
    /// use stagger::tower::Idempotent;
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let reads = |method: &Uri| method.path().starts_with("/shop.Orders/Get");
    /// assert!(!reads.is_idempotent(&Uri::from_static("/shop.Orders/Create")));
    /// let layer = GrpcLayer::new(Retrier::new(Policy::default(), TokioTime)).idempotent(reads);
    /// # let _ = layer;
    /// ```
    pub fn idempotent<C>(self, decide: C) -> GrpcLayer<Z, L, C> {
        GrpcLayer { calls: self.calls.idempotent(decide) }
    }

    /// Retries as OTLP asks of exporters: all methods may be called twice, after CANCELLED,
    /// DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE and DATA_LOSS, and after RESOURCE_EXHAUSTED only
    /// with a `google.rpc.RetryInfo` in the details of the status: without one the server will not recover.
    /// The delay in it is a hint as any. A service config goes before this.
    ///
    /// Source: opentelemetry-proto, docs/specification.md, "Failures".
    ///
    /// ```
    /// use stagger::tonic::GrpcLayer;
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let layer = GrpcLayer::new(Retrier::new(Policy::batch(), TokioTime)).otlp();
    /// # let _ = layer;
    /// ```
    pub fn otlp(self) -> Self {
        Self { calls: self.calls.otlp() }
    }

    /// Keeps this many bytes of a request for further attempts. Default: 256 KiB, as gRPC's own
    /// clients; a part of a body counts as at least 32. A call whose request turns out to be larger is
    /// not retried.
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.calls.settings.buffer = bytes;
        self
    }

    /// Tells the server of each attempt by these headers, beside `grpc-previous-rpc-attempts`, of which a
    /// first attempt has none: a server with an [`InboundLayer`](crate::tower::InboundLayer) then knows from
    /// the first attempt on that its caller retries. Default: none.
    ///
    /// ```
    /// use stagger::http::AttemptHeaders;
    /// use stagger::tonic::GrpcLayer;
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let layer = GrpcLayer::new(Retrier::new(Policy::default(), TokioTime));
    /// let layer = layer.attempt_headers(AttemptHeaders::new().number());
    /// # let _ = layer;
    /// ```
    pub const fn attempt_headers(mut self, headers: AttemptHeaders) -> Self {
        self.calls.settings.attempt_headers = headers;
        self
    }
}

impl<S, Z: Clone, L, D: Clone> Layer<S> for GrpcLayer<Z, L, D> {
    type Service = Grpc<S, Z, L, D>;

    fn layer(&self, inner: S) -> Self::Service {
        Grpc::of(inner, self.calls.clone())
    }
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<Z: Clone, L, D: Clone> Clone for GrpcLayer<Z, L, D> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone() }
    }
}

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

    /// Retries as OTLP asks of exporters, as [`GrpcLayer::otlp`](super::GrpcLayer::otlp).
    #[must_use]
    pub fn otlp(self) -> Self {
        Self { inner: self.inner, calls: self.calls.otlp() }
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
    type Response = Response<DeadlineBody<B, Z>>;
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

//! The layer that wraps channels.

use stagger_core::service_config::ServiceConfig;
use tower_layer::Layer;

use super::calls::GrpcCalls;
use super::{ByServiceConfig, Grpc};
use crate::{LocalLedger, Retrier};

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
    /// one attempt. The ledger is a new one, because budgets of two kinds cannot share one.
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

    /// Keeps this many bytes of a request for further attempts. Default: 256 KiB, as gRPC's own
    /// clients; a part of a body counts as at least 32. A call whose request turns out to be larger is
    /// not retried.
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.calls.buffer = bytes;
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

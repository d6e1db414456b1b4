//! The layer that wraps services, and its service: one call for each request.

use std::error::Error as StdError;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use stagger_core::Outcome;
use stagger_core::retry::Ledger;
use tower_layer::Layer;
use tower_service::Service;

use super::{Cloned, EveryRequest, Idempotent, ResponseFuture, ServiceError};
use crate::run::{ActiveCall, ByError, ByResult, ByType, RetryIf};
use crate::{Classifier, LocalLedger, Retrier, Sleep};

/// Makes the calls of a service under a policy.
///
/// The caller says which errors are worth another attempt, unless their type says it itself
/// ([`Classify`](crate::Classify)). `J` classifies results, `D` decides which requests may be sent twice.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// use std::{fmt, sync::atomic::{AtomicU32, Ordering}};
/// use stagger::tower::StaggerLayer;
/// use stagger::{Policy, Retrier, TokioTime};
/// use tower::{Service, ServiceBuilder, ServiceExt};
/// let retrier = Retrier::new(Policy::default(), TokioTime);
/// let layer = StaggerLayer::new(retrier).when(|_: &fmt::Error| true);
/// let tries = AtomicU32::new(0);
/// let server = |item: u32| {
///     let busy = tries.fetch_add(1, Ordering::Relaxed) < 2;
///     std::future::ready(if busy { Err(fmt::Error) } else { Ok(item + 1) })
/// };
/// let mut service = ServiceBuilder::new().layer(layer).service_fn(server);
/// assert_eq!(service.ready().await?.call(1).await?, 2);
/// assert_eq!(tries.into_inner(), 3);
/// # Ok::<(), stagger::tower::ServiceError>(()) }).map_err(std::io::Error::other)}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[derive(Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct StaggerLayer<Z, L = LocalLedger, J = ByType, D = EveryRequest> {
    retrier: Arc<Retrier<Z, L>>,
    classifier: J,
    idempotent: D,
}

impl<Z, L> StaggerLayer<Z, L> {
    /// Calls by `retrier`, whose policy, budget and breaker all services of the layer share. Keep one
    /// for each destination.
    pub fn new(retrier: Retrier<Z, L>) -> Self {
        Self { retrier: Arc::new(retrier), classifier: ByType, idempotent: EveryRequest }
    }
}

impl<Z, L, D> StaggerLayer<Z, L, ByType, D> {
    /// Retries after the errors for which `worth` answers yes: they are transient, all others
    /// permanent.
    pub fn when<E, F>(self, worth: F) -> StaggerLayer<Z, L, RetryIf<F>, D>
    where
        F: FnMut(&E) -> bool,
    {
        self.classified_by(RetryIf(worth))
    }

    /// Classifies errors by `classifier`: verdict, hint and all.
    pub fn classify<E, F>(self, classifier: F) -> StaggerLayer<Z, L, ByError<F>, D>
    where
        F: FnMut(&E) -> Outcome,
    {
        self.classified_by(ByError(classifier))
    }

    /// Classifies results by `classifier`, `Ok` included: for replies that carry their failure in
    /// a status. When the attempts end on such an `Ok`, the call returns it as it is.
    pub fn classify_result<T, E, F>(self, classifier: F) -> StaggerLayer<Z, L, ByResult<F>, D>
    where
        F: FnMut(&Result<T, E>) -> Outcome,
    {
        self.classified_by(ByResult(classifier))
    }

    /// Classifies results by `classifier`. Each call has a clone of it.
    pub fn classified_by<J>(self, classifier: J) -> StaggerLayer<Z, L, J, D> {
        let Self { retrier, classifier: ByType, idempotent } = self;
        StaggerLayer { retrier, classifier, idempotent }
    }
}

impl<Z, L, J, D> StaggerLayer<Z, L, J, D> {
    /// Decides which requests may be sent twice. Default: all of them, because the caller said
    /// what to retry. Of the others only failures that the server cannot have acted on are retried.
    pub fn idempotent<C>(self, decide: C) -> StaggerLayer<Z, L, J, C> {
        let Self { retrier, classifier, idempotent: _ } = self;
        StaggerLayer { retrier, classifier, idempotent: decide }
    }
}

impl<S, Z, L, J, D> Layer<S> for StaggerLayer<Z, L, J, D>
where
    J: Clone,
    D: Clone,
{
    type Service = Stagger<S, Z, L, J, D>;

    fn layer(&self, inner: S) -> Self::Service {
        let Self { retrier, classifier, idempotent } = self;
        Stagger::new(inner, Arc::clone(retrier), classifier.clone(), idempotent.clone())
    }
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<Z, L, J: Clone, D: Clone> Clone for StaggerLayer<Z, L, J, D> {
    fn clone(&self) -> Self {
        let Self { retrier, classifier, idempotent } = self;
        Self {
            retrier: Arc::clone(retrier),
            classifier: classifier.clone(),
            idempotent: idempotent.clone(),
        }
    }
}

/// A service whose calls are made under a policy; made by
/// [`StaggerLayer`](super::StaggerLayer).
///
/// Clones share budget and breaker.
#[derive(Debug)]
pub struct Stagger<S, Z, L = LocalLedger, J = ByType, D = EveryRequest> {
    inner: S,
    /// Shared, because each call holds it: one count to raise and to lower.
    retrier: Arc<Retrier<Z, L>>,
    classifier: J,
    idempotent: D,
}

impl<S, Z, L, J, D> Stagger<S, Z, L, J, D> {
    pub(super) const fn new(
        inner: S,
        retrier: Arc<Retrier<Z, L>>,
        classifier: J,
        idempotent: D,
    ) -> Self {
        Self { inner, retrier, classifier, idempotent }
    }

    /// The policy, and the ledger to be shared or read.
    #[must_use]
    pub fn retrier(&self) -> &Retrier<Z, L> {
        &self.retrier
    }
}

impl<S, Req, Z, L, J, D> Service<Req> for Stagger<S, Z, L, J, D>
where
    S: Service<Req> + Clone,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    Req: Clone,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<S::Response, S::Error> + Clone,
    D: Idempotent<Req>,
{
    type Response = S::Response;
    type Error = ServiceError;
    type Future = ResponseFuture<S, Cloned<Req>, J, Z, L>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ServiceError>> {
        self.inner.poll_ready(context).map_err(ServiceError::not_ready)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        // A clone may not be ready: the one that is makes the call.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let idempotent = self.idempotent.is_idempotent(&request);
        let call = ActiveCall::new(Arc::clone(&self.retrier), None, idempotent);
        ResponseFuture::new(call, ready, Cloned(request), self.classifier.clone())
    }
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<S: Clone, Z, L, J: Clone, D: Clone> Clone for Stagger<S, Z, L, J, D> {
    fn clone(&self) -> Self {
        let Self { inner, retrier, classifier, idempotent } = self;
        Self::new(inner.clone(), Arc::clone(retrier), classifier.clone(), idempotent.clone())
    }
}

//! The service: one call for each request.

use std::error::Error as StdError;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use stagger_core::retry::Ledger;
use tower_service::Service;

use super::{Cloned, EveryRequest, Idempotent, ResponseFuture, ServiceError};
use crate::run::{ActiveCall, ByType};
use crate::{Classifier, LocalLedger, Retrier, Sleep};

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

//! The tower layer over requests that can be cloned.

use std::sync::Arc;

use stagger::tower::{HttpReplies, StaggerLayer};
use stagger::{LocalLedger, Policy, Retrier, TokioTime};
use tower::{Layer, ServiceExt, service_fn};

use crate::hyper::Pool;
use crate::{Ask, End, Integration, Later};

/// The tower layer over requests that can be cloned.
#[derive(Clone, Copy, Debug)]
pub struct TowerClone;

impl Integration for TowerClone {
    fn name(&self) -> &'static str {
        "tower"
    }

    fn calls(&self, policy: Policy, ledger: Arc<LocalLedger>, asks: Vec<Ask>) -> Later<Vec<End>> {
        Box::pin(async move {
            let retrier = Retrier::new(policy, TokioTime).with_ledger(ledger);
            let layer = StaggerLayer::new(retrier)
                .judged_by(HttpReplies::default())
                .idempotent(Ask::is_idempotent);
            let pool = Pool::new();
            let service = layer.layer(service_fn(move |ask: Ask| pool.clone().send(ask)));
            let mut ends = Vec::new();
            for ask in asks {
                let result = service.clone().oneshot(ask).await;
                let ended = result.as_ref().err().and_then(|error| error.end());
                let (stop, attempts) = (ended.map(|e| e.stop()), ended.map(|e| e.attempts()));
                let result = result.map_err(|error| error.to_string());
                ends.push(End { result, stop, attempts });
            }
            ends
        })
    }
}

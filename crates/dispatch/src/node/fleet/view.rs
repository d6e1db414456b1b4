//! The view of endpoints that other nodes lead, and of all nodes together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use stagger::breaker::StateKind;

use crate::Error;
use crate::model::{DeliveryState, EndpointId};
use crate::node::parts::Parts;
use crate::scheduler::QueueView;
use crate::store::{Cluster, ClusterView};

/// All nodes together, as of the last heartbeat.
#[derive(Debug, Default)]
pub(in crate::node) struct FleetView {
    members: AtomicUsize,
    open: AtomicU64,
}

impl FleetView {
    pub(super) fn update(&self, cluster_view: &ClusterView) {
        self.members.store(cluster_view.members.len(), Ordering::Relaxed);
        self.open.store(cluster_view.open, Ordering::Relaxed);
    }

    /// The number of nodes; 0 with a store for one node.
    pub(in crate::node) fn members(&self) -> usize {
        self.members.load(Ordering::Relaxed)
    }

    /// Whether all nodes together have room for more, each for `most` open deliveries.
    pub(in crate::node) fn check_room(&self, most: usize) -> Result<(), Error> {
        let most = most.saturating_mul(self.members().max(1));
        if usize::try_from(self.open.load(Ordering::Relaxed)).is_ok_and(|open| open < most) {
            return Ok(());
        }
        Err(Error::busy(format!("{most} deliveries are open, which is the limit")))
    }
}

/// The state of an endpoint that another node leads, as the store has it: only its leader knows the
/// attempts in flight and the deliveries that are ready.
pub(in crate::node) async fn view(
    parts: &Parts,
    cluster: &dyn Cluster,
    id: EndpointId,
) -> Result<Option<QueueView>, Error> {
    let Some(endpoint_state) = cluster.endpoint_state(id).await? else { return Ok(None) };
    let counts = parts.store.counts(Some(id)).await?;
    let now = parts.clock.now();
    let next_probe = endpoint_state.open.map(|opened| opened.until);
    let breaker = match next_probe {
        None => StateKind::Closed,
        Some(until) if until > now => StateKind::Open,
        Some(_) => StateKind::HalfOpen,
    };
    let count = |state| usize::try_from(counts.of(state)).unwrap_or(usize::MAX);
    let rate = parts.directory.endpoint(id).and_then(|endpoint| endpoint.pace.rate);
    Ok(Some(QueueView {
        endpoint_state,
        breaker,
        next_probe,
        ready: count(DeliveryState::Pending),
        waiting: count(DeliveryState::Waiting),
        in_flight: 0,
        rate: rate.map(|rate| u64::from(rate.get())),
    }))
}

//! The view of all nodes together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::Error;
use crate::store::ClusterView;

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

    /// The number of nodes; 0 before the first heartbeat.
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

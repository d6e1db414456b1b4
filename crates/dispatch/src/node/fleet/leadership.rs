//! The shards that this node leads, and what its tasks share about them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagger::Instant;
use stagger_scheduler::model::{Delivery, EndpointId};
use stagger_store::{ClusterView, Fence, Lead, ShardId, Shards};
use tokio::sync::watch;

use super::node_list::{NodeInfo, SeenMembers};
use crate::Error;
use crate::node::scheduler_state::{Command, Inbox};

/// The shards that this node leads. With a store for one node these are all.
#[derive(Debug)]
pub(in crate::node) struct Leadership {
    state: Mutex<LeadershipState>,
}

#[derive(Debug)]
struct LeadershipState {
    held: Arc<LeadGuard>,
    /// The shards whose endpoints have queues here: those that the node leads, acquires or
    /// releases.
    queues: Shards,
}

/// The leadership of the node at the start of an operation. While a guard exists, no shard of it is
/// released.
#[derive(Debug)]
pub(in crate::node) struct LeadGuard {
    lead: Lead,
    alive: watch::Sender<()>,
}

/// The guards of an earlier leadership that still exist.
#[derive(Debug)]
pub(super) struct FormerLead(watch::Receiver<()>);

impl Leadership {
    /// Leads nothing yet.
    pub(in crate::node) fn nothing() -> Self {
        let held = LeadGuard::new(Lead::default());
        Self { state: Mutex::new(LeadershipState { held, queues: Shards::NONE }) }
    }

    /// Guards the current leadership.
    pub(in crate::node) fn hold(&self) -> Arc<LeadGuard> {
        Arc::clone(&self.state().held)
    }

    /// The shards that the node leads now.
    pub(in crate::node) fn shards(&self) -> Shards {
        self.state().held.lead.shards
    }

    /// Whether the endpoint's queue is here, or should be.
    pub(in crate::node) fn has_queue(&self, endpoint: EndpointId) -> bool {
        self.state().queues.contains(ShardId::of(endpoint))
    }

    /// Whether the node leads the endpoint.
    pub(in crate::node) fn leads(&self, endpoint: EndpointId) -> bool {
        self.hold().leads(endpoint)
    }

    /// A membership begins: it leads nothing.
    pub(super) fn begin(&self, fence: Fence) {
        let mut state = self.state();
        state.queues = Shards::NONE;
        state.held = LeadGuard::new(Lead { fence, shards: Shards::NONE });
    }

    /// The membership of this fence has ended, unless another has begun.
    pub(in crate::node) fn end(&self, fence: Fence) {
        let mut state = self.state();
        if state.held.lead.fence == fence {
            state.held = LeadGuard::new(Lead { fence, shards: Shards::NONE });
        }
    }

    /// Records that queues for these shards are being added.
    pub(super) fn add_queues(&self, shards: Shards) {
        let mut state = self.state();
        state.queues = state.queues.union(shards);
    }

    /// Records that the queues of these shards are removed.
    pub(super) fn remove_queues(&self, shards: Shards) {
        let mut state = self.state();
        state.queues = state.queues.without(shards);
    }

    /// Leads these too.
    pub(super) fn add(&self, shards: Shards) {
        let mut state = self.state();
        let Lead { fence, shards: before } = state.held.lead;
        state.held = LeadGuard::new(Lead { fence, shards: before.union(shards) });
    }

    /// Stops leading these; the caller can wait for operations that still use them.
    pub(super) fn remove(&self, shards: Shards) -> FormerLead {
        let mut state = self.state();
        let Lead { fence, shards: before } = state.held.lead;
        let former = FormerLead(state.held.alive.subscribe());
        state.held = LeadGuard::new(Lead { fence, shards: before.without(shards) });
        former
    }

    fn state(&self) -> MutexGuard<'_, LeadershipState> {
        // It is whole between any two of its assignments.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeadGuard {
    fn new(lead: Lead) -> Arc<Self> {
        Arc::new(Self { lead, alive: watch::Sender::new(()) })
    }

    pub(in crate::node) const fn lead(&self) -> Lead {
        self.lead
    }

    pub(in crate::node) fn leads(&self, endpoint: EndpointId) -> bool {
        self.lead.shards.contains(ShardId::of(endpoint))
    }
}

impl FormerLead {
    /// Waits until no operation uses it any more.
    pub(super) async fn over(mut self) {
        // Nothing is ever sent: it ends with the last holder.
        while self.0.changed().await.is_ok() {}
    }
}

/// All nodes together, as of the last heartbeat.
#[derive(Debug, Default)]
pub(in crate::node) struct FleetView {
    members: AtomicUsize,
    open: AtomicU64,
    seen: SeenMembers,
}

impl FleetView {
    pub(super) fn update(&self, now: Instant, cluster_view: &ClusterView) {
        self.seen.update(now, cluster_view);
        self.members.store(cluster_view.members.len(), Ordering::Relaxed);
        self.open.store(cluster_view.open, Ordering::Relaxed);
    }

    /// The other nodes, as they were seen last.
    pub(in crate::node) fn others(&self, own: Fence) -> Vec<NodeInfo> {
        self.seen.others(own)
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

/// The number of overdue deliveries from which on an endpoint recovers slowly: deliveries missed
/// while no node led the endpoint are a backlog like any other. This many are a second's worth of a
/// recovery.
const BACKLOG: u32 = 100;

/// The deliveries counted so far to each endpoint.
#[derive(Debug, Default)]
pub(super) struct BacklogCounter {
    counts: BTreeMap<EndpointId, u32>,
}

impl BacklogCounter {
    /// Starts the recovery of the endpoints that reach a backlog with these deliveries. Called before
    /// the deliveries are scheduled, so that none of them is sent at full speed.
    pub(super) fn count<'d>(
        &mut self,
        deliveries: impl Iterator<Item = &'d Delivery>,
        inbox: &Inbox,
    ) {
        for endpoint in deliveries.map(|delivery| delivery.endpoint) {
            let count = self.counts.entry(endpoint).or_default();
            *count += 1;
            if *count == BACKLOG {
                recover(endpoint, inbox);
            }
        }
    }
}

/// Starts the recovery of an endpoint. Called before its deliveries are scheduled.
pub(in crate::node) fn recover(endpoint: EndpointId, inbox: &Inbox) {
    inbox.tell(Command::Do(Box::new(move |state| {
        state.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint));
    })));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_guarded_shard_is_not_released() {
        let leadership = Leadership::nothing();
        leadership.begin(Fence(1));
        leadership.add(Shards::ALL);
        let (one, two) = (leadership.hold(), leadership.hold());
        let given: Shards = [ShardId(7)].into_iter().collect();
        let mut over = Box::pin(leadership.remove(given).over());
        assert!(
            !leadership.shards().contains(ShardId(7)) && one.lead().shards.contains(ShardId(7))
        );
        let later = leadership.hold();
        drop(one);
        tokio::select! {
            biased;
            () = &mut over => panic!("a guard still exists"),
            () = std::future::ready(()) => {}
        }
        drop(two);
        over.await;
        assert_eq!(later.lead(), Lead { fence: Fence(1), shards: Shards::ALL.without(given) });
    }

    #[test]
    fn the_end_of_an_earlier_membership_ends_no_later_one() {
        let leadership = Leadership::nothing();
        leadership.begin(Fence(2));
        leadership.add(Shards::ALL);
        leadership.end(Fence(1));
        assert_eq!(leadership.shards(), Shards::ALL);
        leadership.end(Fence(2));
        assert_eq!(leadership.shards(), Shards::NONE);
    }
}

//! Moves shards to this node and away from it, with the parts of the node that this takes.

use std::sync::Arc;

use stagger::{Sleep, Span, TokioTime};
use stagger_scheduler::model::{Delivery, EndpointId};
use stagger_store::{
    ClusterHandle, DeliveryStore, Fence, NodeIdentity, Notification, ShardId, Shards, StoreBackoff,
};
use tokio::sync::watch;

use super::leadership::{BacklogCounter, FleetView, Leadership};
use super::settings_sync::SettingsSync;
use super::work::Work;
use crate::Error;
use crate::node::clock::EngineClock;
use crate::node::directory::Directory;
use crate::node::health::NodeHealth;
use crate::node::scheduler_state::{Command, Inbox, SchedulerState};
use crate::node::settle_queue::PendingNotifications;

/// The pause between two checks whether attempts have ended.
const LOOK: Span = Span::from_millis(20);

/// Acquires shards: adds their endpoint queues, and loads their open deliveries. Releases shards:
/// launches no more of their attempts, stores the results of those in flight, and removes their
/// queues.
#[derive(Debug)]
pub(in crate::node) struct ShardMover {
    pub(in crate::node) store: Arc<dyn DeliveryStore>,
    pub(in crate::node) cluster: ClusterHandle,
    pub(in crate::node) leadership: Arc<Leadership>,
    pub(in crate::node) settings: Arc<SettingsSync>,
    pub(in crate::node) directory: Arc<Directory>,
    pub(in crate::node) inbox: Inbox,
    pub(in crate::node) clock: EngineClock,
}

impl ShardMover {
    /// Makes this node lead shards that the store says it leads: as often as it takes.
    pub(super) async fn acquire(&self, work: &Work, shards: Shards) {
        let mut backoff = StoreBackoff::default();
        while let Err(error) = self.try_acquire(work, shards).await {
            tracing::warn!(%error, "shards not loaded, retrying");
            backoff.wait().await;
            // A part of it may be here, and some of that may be settled by the next look.
            self.unload(shards).await;
        }
    }

    /// The same, once.
    ///
    /// # Errors
    /// The store cannot be read. A part of the shards may be loaded.
    pub(super) async fn try_acquire(&self, work: &Work, shards: Shards) -> Result<(), Error> {
        self.add_queues(shards).await?;
        let (now, mut overdue) = (self.clock.now(), BacklogCounter::default());
        let mut unknown = Vec::new();
        let mut page = |mut deliveries: Vec<Delivery>| {
            let is_unknown = |it: &mut Delivery| self.directory.endpoint(it.endpoint).is_none();
            unknown.extend(deliveries.extract_if(.., is_unknown));
            overdue.count(deliveries.iter().filter(|it| it.due <= now), &self.inbox);
            self.inbox.tell(Command::Add(deliveries));
        };
        let covered = self.cluster.load(shards, &mut page).await?;
        if !unknown.is_empty() {
            // Their endpoints were created after the queues were added.
            self.settings.sync().await?;
            self.inbox.tell(Command::Add(unknown));
        }
        work.done(covered);
        self.leadership.add(shards);
        work.wake(shards);
        Ok(())
    }

    /// Reads current settings and endpoint states: the former leader writes none any more.
    async fn add_queues(&self, shards: Shards) -> Result<(), Error> {
        let turn = self.settings.turn().await;
        turn.sync().await?;
        let mut endpoints = self.store.endpoints().await?;
        endpoints.retain(|(endpoint, _)| shards.contains(ShardId::of(endpoint.id)));
        self.leadership.add_queues(shards);
        let now = self.clock.now();
        let lay = move |state: &mut SchedulerState| {
            for (endpoint, endpoint_state) in &endpoints {
                state.scheduler.put_endpoint(now, endpoint, Some(*endpoint_state));
                state.remember(endpoint.id, *endpoint_state);
            }
        };
        self.inbox.ask(lay).await;
        Ok(())
    }

    /// Releases shards of this node: each as soon as none of its attempts is in flight.
    ///
    /// Notifies the other nodes after each step, so that they acquire shards while the last attempts
    /// are still in flight.
    ///
    /// # Errors
    /// The release is not confirmed. The call may still arrive, and must not take a shard that this
    /// node has acquired again by then: the membership has to end.
    pub(super) async fn release(&self, shards: Shards) -> Result<(), Error> {
        let fence = self.leadership.hold().lead().fence;
        self.leadership.remove(shards).over().await;
        self.rest(shards).await;
        let mut left = shards;
        while !left.is_empty() {
            let idle = self.idle(left).await;
            if idle.is_empty() {
                TokioTime.sleep(LOOK).await;
                continue;
            }
            self.clear(idle).await;
            self.cluster.release(fence, idle).await?;
            left = left.without(idle);
            self.cluster.notify(Notification::Members).await;
        }
        Ok(())
    }

    /// Removes the queues of shards, once the results of their attempts are stored.
    async fn unload(&self, shards: Shards) {
        self.rest(shards).await;
        while self.idle(shards).await != shards {
            TokioTime.sleep(LOOK).await;
        }
        self.clear(shards).await;
    }

    async fn rest(&self, shards: Shards) {
        let endpoints = self.endpoints(shards);
        let rest = move |state: &mut SchedulerState| {
            endpoints.iter().for_each(|endpoint| state.scheduler.drain(*endpoint));
        };
        self.inbox.ask(rest).await;
    }

    /// The shards without attempts in flight.
    async fn idle(&self, shards: Shards) -> Shards {
        let endpoints = self.endpoints(shards);
        let busy = move |state: &mut SchedulerState| -> Shards {
            let busy = endpoints.iter().filter(|endpoint| !state.scheduler.is_idle(**endpoint));
            busy.map(|endpoint| ShardId::of(*endpoint)).collect()
        };
        // Without a scheduler no attempt is in flight.
        shards.without(self.inbox.ask(busy).await.unwrap_or_default())
    }

    /// Stores the endpoint states, then removes the queues.
    async fn clear(&self, shards: Shards) {
        let _turn = self.settings.turn().await;
        if let Some(stored) = self.inbox.ask(|state| state.flushed()).await {
            // Lost means that another node leads them, which is as good.
            stored.wait().await.ok();
        }
        let endpoints = self.endpoints(shards);
        self.leadership.remove_queues(shards);
        let forget = move |state: &mut SchedulerState| {
            endpoints.iter().for_each(|endpoint| state.forget(*endpoint));
        };
        self.inbox.ask(forget).await;
    }

    fn endpoints(&self, shards: Shards) -> Vec<EndpointId> {
        let mut all = self.directory.all_endpoints();
        all.retain(|endpoint| shards.contains(ShardId::of(*endpoint)));
        all
    }
}

/// The parts of a node that a membership moves.
#[derive(Debug)]
pub(in crate::node) struct FleetLinks {
    pub(in crate::node) cluster: ClusterHandle,
    pub(in crate::node) leadership: Arc<Leadership>,
    pub(in crate::node) settings: Arc<SettingsSync>,
    pub(in crate::node) view: Arc<FleetView>,
    pub(in crate::node) mover: Arc<ShardMover>,
    pub(in crate::node) work: Arc<Work>,
    /// Shards with new work, of which the other nodes have not been notified yet.
    pub(in crate::node) notifications: Arc<PendingNotifications>,
    /// The membership under which settlements were refused last: it has ended.
    pub(in crate::node) lost: watch::Sender<Option<Fence>>,
    pub(in crate::node) health: Arc<NodeHealth>,
    pub(in crate::node) inbox: Inbox,
    pub(in crate::node) clock: EngineClock,
    /// The name of the node, for people.
    pub(in crate::node) name: NodeIdentity,
    pub(in crate::node) lease: Span,
}

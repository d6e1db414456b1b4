//! The state of the task that owns the scheduler: the queues, and what follows each of their changes.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::Instant;
use tokio::task::JoinSet;

use super::clock::EngineClock;
use super::directory::Directory;
use super::health::NodeHealth;
use super::settle_queue::{PendingCommit, SettleQueue};
use crate::model::{Delivery, EndpointId, EndpointState, MessageId};
use crate::observe;
use crate::scheduler::Scheduler;
use crate::store::{Fence, Settlement};

/// Owned by one task: all changes of queues pass through it, one after the other.
#[derive(Debug)]
pub(super) struct SchedulerState {
    pub(super) scheduler: Scheduler,
    pub(super) clock: EngineClock,
    pub(super) health: Arc<NodeHealth>,
    directory: Arc<Directory>,
    settling: SettleQueue,
    /// The tasks of the attempts in flight.
    pub(super) attempts: JoinSet<()>,
    /// The last known state of each endpoint, to log its changes.
    endpoint_states: HashMap<EndpointId, EndpointState>,
    /// The deadline of a shutdown: after it, attempts in flight are aborted.
    deadline: Option<Instant>,
    /// From when on it makes no attempts, because another node may lead by then; `None`: never.
    until: Option<Instant>,
}

impl SchedulerState {
    pub(super) fn new(
        slots: NonZeroU32,
        clock: EngineClock,
        health: Arc<NodeHealth>,
        directory: Arc<Directory>,
        settling: SettleQueue,
    ) -> Self {
        Self {
            scheduler: Scheduler::new(slots),
            clock,
            health,
            directory,
            settling,
            attempts: JoinSet::new(),
            endpoint_states: HashMap::new(),
            deadline: None,
            until: None,
        }
    }

    /// Schedules durable deliveries. A delivery whose endpoint was deleted meanwhile is left out: the
    /// store has ended it.
    pub(super) fn add(&mut self, deliveries: &[Delivery]) {
        let now = self.clock.now();
        for delivery in deliveries {
            if self.directory.endpoint(delivery.endpoint).is_some() {
                self.scheduler.add(now, delivery);
            }
        }
    }

    /// Sets the state of an endpoint as the store has it, at a start.
    pub(super) fn remember(&mut self, id: EndpointId, endpoint_state: EndpointState) {
        self.endpoint_states.insert(id, endpoint_state);
    }

    /// Forgets an endpoint.
    pub(super) fn forget(&mut self, id: EndpointId) {
        self.scheduler.remove_endpoint(id);
        self.endpoint_states.remove(&id);
    }

    /// Removes all endpoints and aborts their attempts, whose results are not needed any more.
    pub(super) fn forget_all(&mut self) {
        let endpoints: Vec<EndpointId> = self.scheduler.endpoints().collect();
        for id in endpoints {
            self.scheduler.remove_endpoint(id);
        }
        self.endpoint_states.clear();
        self.attempts.abort_all();
    }

    /// Makes attempts until `until`, or for ever with `None`. Attempts in flight at that time are
    /// aborted and count as not made. All deliveries stay scheduled, and continue when a later time
    /// is set.
    pub(super) const fn lead_until(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// From now on settlements are written under this fence.
    pub(super) const fn begin(&mut self, fence: Fence) {
        self.settling.begin(fence);
    }

    /// Whether this is the fence under which settlements are written.
    pub(super) fn is_under(&self, fence: Fence) -> bool {
        self.settling.fence() == fence
    }

    /// Completes when all earlier settlements are durable, or were dropped with their fence.
    pub(super) fn flushed(&self) -> PendingCommit {
        self.settling.flushed()
    }

    /// Changes the state of an endpoint, and stores it; `None` if the endpoint is not scheduled.
    pub(super) fn change(
        &mut self,
        id: EndpointId,
        change: impl FnOnce(&mut Scheduler, Instant) -> Option<EndpointState>,
    ) -> Option<PendingCommit> {
        let endpoint_state = change(&mut self.scheduler, self.clock.now())?;
        self.note_endpoint_state(id, endpoint_state);
        let endpoint_state = Some((id, endpoint_state));
        Some(self.keep_awaiting_commit(Settlement { endpoint_state, ..Settlement::default() }))
    }

    /// Cancels an open delivery, and stores that; `None` if it is not scheduled.
    pub(super) fn cancel(
        &mut self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Option<(Delivery, PendingCommit)> {
        let delivery = self.scheduler.cancel(self.clock.now(), message, endpoint)?;
        let settlement = Settlement { delivery: Some(delivery), ..Settlement::default() };
        Some((delivery, self.keep_awaiting_commit(settlement)))
    }

    /// Hands a settlement over to be stored.
    pub(super) fn keep(&mut self, settlement: Settlement) {
        self.health.begin_settling();
        self.settling.push(settlement);
    }

    /// The same, with a commit that completes when it is durable.
    pub(super) fn keep_awaiting_commit(&mut self, settlement: Settlement) -> PendingCommit {
        self.health.begin_settling();
        self.settling.push_awaiting_commit(settlement)
    }

    /// Logs how the state of an endpoint has changed.
    pub(super) fn note_endpoint_state(&mut self, id: EndpointId, endpoint_state: EndpointState) {
        let before = self.endpoint_states.insert(id, endpoint_state).unwrap_or_default();
        observe::moved(id, &before, &endpoint_state);
    }

    /// Stops launching, and ends when no attempt is in flight or at `deadline`.
    pub(super) const fn end(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Whether it launches nothing any more.
    pub(super) const fn is_ending(&self) -> bool {
        self.deadline.is_some()
    }

    /// The time at which attempts in flight are aborted.
    pub(super) fn aborts_at(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.until).min()
    }
}

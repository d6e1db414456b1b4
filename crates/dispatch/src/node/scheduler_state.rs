//! The state of the task that owns the scheduler: the queues, what follows each of their changes, and the
//! commands for them.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::Instant;
use stagger_scheduler::model::{
    AttemptAnswer, Delivery, Disabled, EndpointId, EndpointState, MessageId,
};
use stagger_scheduler::{Launch, Scheduler};
use stagger_store::{Fence, Settlement};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::clock::EngineClock;
use super::directory::Directory;
use super::health::NodeHealth;
use super::lease::SendingLease;
use super::operator_events::OperatorEvents;
use super::settle_queue::{PendingCommit, SettleQueue};
use crate::observe;

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
    /// The events that the operator is told.
    operator_events: OperatorEvents,
    /// The deadline of a shutdown: after it, attempts in flight are aborted.
    deadline: Option<Instant>,
    /// The lease of the current membership: after its end another node may lead.
    lease: Arc<SendingLease>,
}

impl SchedulerState {
    pub(super) fn new(
        slots: NonZeroU32,
        clock: EngineClock,
        health: Arc<NodeHealth>,
        directory: Arc<Directory>,
        settling: SettleQueue,
        operator_events: OperatorEvents,
    ) -> Self {
        Self {
            scheduler: Scheduler::new(slots),
            clock,
            health,
            directory,
            settling,
            attempts: JoinSet::new(),
            endpoint_states: HashMap::new(),
            operator_events,
            deadline: None,
            lease: Arc::new(SendingLease::for_ever()),
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
        self.directory.set_closed(id, is_closed(&endpoint_state));
        self.endpoint_states.insert(id, endpoint_state);
        self.operator_events.remember(self.clock.now(), id, &endpoint_state);
    }

    /// Forgets an endpoint.
    pub(super) fn forget(&mut self, id: EndpointId) {
        self.scheduler.remove_endpoint(id);
        self.endpoint_states.remove(&id);
        self.operator_events.forget(id);
        // Its next leader may enable it, and this node does not hear of that.
        self.directory.set_closed(id, false);
    }

    /// Removes all endpoints and aborts their attempts, whose results are not needed any more.
    pub(super) fn forget_all(&mut self) {
        let endpoints: Vec<EndpointId> = self.scheduler.endpoints().collect();
        for id in endpoints {
            self.forget(id);
        }
        self.lease.set(Some(Instant::ORIGIN));
        self.attempts.abort_all();
    }

    /// Makes attempts until `until`, or for ever with `None`. Attempts in flight at that time are
    /// aborted and count as not made. All deliveries stay scheduled, and continue when a later time
    /// is set.
    pub(super) fn lead_until(&self, until: Option<Instant>) {
        self.lease.set(until);
    }

    /// From now on settlements are written under this fence. Attempts of an earlier membership keep
    /// its lease, which has ended.
    pub(super) fn begin(&mut self, fence: Fence) {
        self.settling.begin(fence);
        self.lease.set(Some(Instant::ORIGIN));
        self.lease = Arc::new(SendingLease::none());
    }

    /// The lease that an attempt asks before it writes its request.
    pub(super) fn lease(&self) -> Arc<SendingLease> {
        Arc::clone(&self.lease)
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
        let endpoint_state = Some((id, endpoint_state));
        let mut settlement = Settlement { endpoint_state, ..Settlement::default() };
        self.note_change(&mut settlement);
        Some(self.keep_awaiting_commit(settlement))
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

    /// Makes an open delivery due and the next of its endpoint, and stores that; `None` if it is not
    /// scheduled.
    pub(super) fn retry(
        &mut self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Option<(Option<Delivery>, PendingCommit)> {
        let change = self.scheduler.retry(self.clock.now(), message, endpoint)?;
        let delivery = change.delivery;
        let mut settlement = Settlement::from(change);
        self.note_change(&mut settlement);
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

    /// Logs how a settlement changes the state of its endpoint, and adds what the operator is told about that.
    pub(super) fn note_change(&mut self, settlement: &mut Settlement) {
        let Some((id, after)) = settlement.endpoint_state else { return };
        self.directory.set_closed(id, is_closed(&after));
        let before = self.endpoint_states.insert(id, after).unwrap_or_default();
        observe::moved(id, &before, &after);
        let change = self.operator_events.on_change(self.clock.now(), id, &before, &after);
        settlement.operational.extend(change.message);
        if change.alerted_since != after.alerted_since {
            self.set_alerted(settlement, id, change.alerted_since);
        }
    }

    /// Adds what the operator is told about a delivery that is dead.
    pub(super) fn note_dead(&mut self, settlement: &mut Settlement) {
        let message = self.operator_events.on_settled(self.clock.now(), settlement);
        settlement.operational.extend(message);
    }

    /// The time at which [`report_due_events`](Self::report_due_events) has something.
    pub(super) fn next_event(&self) -> Option<Instant> {
        self.operator_events.next()
    }

    /// Tells the operator of endpoints that have recovered, and of dead deliveries that were held back.
    pub(super) fn report_due_events(&mut self) {
        let now = self.clock.now();
        while let Some(id) = self.operator_events.take_well(now) {
            let state = self.endpoint_states.get(&id).copied().unwrap_or_default();
            if let Some(message) = self.operator_events.recovered(now, id, &state) {
                let mut settlement = Settlement::default();
                settlement.operational.extend(message);
                self.set_alerted(&mut settlement, id, None);
                self.keep(settlement);
            }
        }
        while let Some(message) = self.operator_events.take_held(now) {
            self.keep(Settlement { operational: vec![message], ..Settlement::default() });
        }
    }

    /// Stores together with the event that the operator knows of it.
    fn set_alerted(&mut self, with: &mut Settlement, id: EndpointId, since: Option<Instant>) {
        if let Some(state) = self.scheduler.set_alerted(id, since) {
            self.endpoint_states.insert(id, state);
            with.endpoint_state = Some((id, state));
        }
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
        self.deadline.into_iter().chain(self.lease.until()).min()
    }
}

/// Whether an endpoint gets no new messages: nobody can say whether it ever comes back. One that was
/// disabled by hand does, for a maintenance.
const fn is_closed(endpoint_state: &EndpointState) -> bool {
    matches!(endpoint_state.disabled, Some(Disabled::Gone | Disabled::Failing))
}

/// A command for the task that owns the scheduler.
pub(super) enum Command {
    /// These are durable now, and open.
    Add(Vec<Delivery>),
    /// An attempt is over.
    AttemptDone(Launch, AttemptResult),
    /// Something rare.
    Do(Box<dyn FnOnce(&mut SchedulerState) + Send>),
    /// There is room for more launches again.
    Resume,
}

/// The result of an attempt.
#[derive(Debug)]
pub(super) enum AttemptResult {
    /// An answer; `true` if the message was an operational event.
    Answer(AttemptAnswer, bool),
    /// Nothing: the payload was pruned.
    Gone,
}

/// The sender of commands to the task that owns the scheduler. Not bounded here: accepted messages,
/// slots and settled attempts are.
#[derive(Clone)]
pub(super) struct Inbox {
    commands: mpsc::UnboundedSender<Command>,
}

impl Inbox {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        (Self { commands }, receiver)
    }

    /// Sends a command. If the task has ended the command is dropped: everything that matters is in
    /// the store.
    pub(super) fn tell(&self, command: Command) {
        _ = self.commands.send(command);
    }

    /// Runs a function on the scheduler's task, and waits for its result; `None` when the task has
    /// ended.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut SchedulerState) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.tell(Command::Do(Box::new(move |state| {
            // The caller may have stopped waiting.
            _ = reply.send(question(state));
        })));
        answer.await.ok()
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox(..)")
    }
}

//! The task that owns the scheduler: it launches attempts that are due, and receives their results.

use std::collections::HashMap;
use std::sync::Arc;

use stagger::{Instant, OsEntropy};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::attempt::{AttemptGuard, run_attempt};
use super::inbox::{AttemptResult, Command};
use super::operational_events;
use super::parts::Parts;
use super::settling::{Receipt, SettleQueue};
use super::shared_budgets::SharedCharges;
use crate::model::{AttemptAnswer, Delivery, EndpointId, EndpointState, MessageId};
use crate::observe;
use crate::scheduler::{Launch, NextLaunch, Scheduler};
use crate::store::{Fence, Settlement};

/// Commands taken and launches made in a row, so that neither keeps the other waiting.
const BATCH: usize = 256;
/// The number of unsettled results at which no more attempts are launched: a crash would repeat
/// their attempts, and each takes 2 KiB of memory.
pub(super) const MOST_UNSETTLED: usize = 8192;

/// Owns the scheduler. All changes of queues pass through this task, one after the other.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) scheduler: Scheduler,
    parts: Arc<Parts>,
    commands: mpsc::UnboundedReceiver<Command>,
    settling: SettleQueue,
    attempts: JoinSet<()>,
    under_way: usize,
    /// The last known state of each endpoint, to log its changes.
    endpoint_states: HashMap<EndpointId, EndpointState>,
    /// The deadline of a shutdown: after it, attempts in flight are aborted.
    deadline: Option<Instant>,
    /// From when on it makes no attempts, because another node may lead by then; `None`: never.
    until: Option<Instant>,
    shared_charges: SharedCharges,
}

impl Runner {
    pub(super) fn new(
        parts: Arc<Parts>,
        commands: mpsc::UnboundedReceiver<Command>,
        settling: SettleQueue,
    ) -> Self {
        Self {
            scheduler: Scheduler::new(parts.options.slots),
            parts,
            commands,
            settling,
            attempts: JoinSet::new(),
            under_way: 0,
            endpoint_states: HashMap::new(),
            deadline: None,
            until: None,
            shared_charges: SharedCharges::default(),
        }
    }

    /// Runs until it is told to end. Sleeps while no attempt is due and no command comes.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while !self.is_over() {
            let wake = self.launch();
            tokio::select! {
                biased;
                taken = self.commands.recv_many(&mut batch, BATCH) => if taken == 0 { break },
                () = self.parts.clock.until(wake) => {}
            }
            for command in batch.drain(..) {
                self.obey(command);
            }
            while self.attempts.try_join_next().is_some() {}
            self.parts.health.set_open(self.scheduler.len());
        }
    }

    /// Schedules durable deliveries. A delivery whose endpoint was deleted meanwhile ends here,
    /// except in a cluster, where the node that deletes the endpoint ends its deliveries.
    pub(super) fn add(&mut self, deliveries: &[Delivery]) {
        let now = self.parts.clock.now();
        for delivery in deliveries {
            if self.parts.directory.endpoint(delivery.endpoint).is_some() {
                self.scheduler.add(now, delivery);
            } else if self.parts.store.cluster().is_none() {
                let delivery = Some(delivery.endpoint_deleted(now));
                self.keep(Settlement { delivery, ..Settlement::default() });
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
    pub(super) fn flushed(&self) -> Receipt {
        self.settling.flushed()
    }

    /// Changes the state of an endpoint, and stores it; `None` if the endpoint is not scheduled.
    pub(super) fn change(
        &mut self,
        id: EndpointId,
        change: impl FnOnce(&mut Scheduler, Instant) -> Option<EndpointState>,
    ) -> Option<Receipt> {
        let endpoint_state = change(&mut self.scheduler, self.parts.clock.now())?;
        self.note_endpoint_state(id, endpoint_state);
        let endpoint_state = Some((id, endpoint_state));
        Some(self.keep_with_receipt(Settlement { endpoint_state, ..Settlement::default() }))
    }

    /// Cancels an open delivery, and stores that; `None` if it is not scheduled.
    pub(super) fn cancel(
        &mut self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Option<(Delivery, Receipt)> {
        let delivery = self.scheduler.cancel(self.parts.clock.now(), message, endpoint)?;
        let settlement = Settlement { delivery: Some(delivery), ..Settlement::default() };
        Some((delivery, self.keep_with_receipt(settlement)))
    }

    /// Hands a settlement over to be stored.
    pub(super) fn keep(&mut self, settlement: Settlement) {
        self.parts.health.begin_settling();
        self.settling.push(settlement);
    }

    /// The same, with a receipt that completes when it is durable.
    pub(super) fn keep_with_receipt(&mut self, settlement: Settlement) -> Receipt {
        self.parts.health.begin_settling();
        self.settling.push_with_receipt(settlement)
    }

    /// Stops launching, and ends when no attempt is in flight or at `deadline`.
    pub(super) fn end(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    fn is_over(&self) -> bool {
        self.deadline.is_some() && self.under_way == 0
    }

    /// Launches attempts that are due; returns the time of the next check.
    fn launch(&mut self) -> Option<Instant> {
        let now = self.parts.clock.now();
        let over = self.deadline.into_iter().chain(self.until).min();
        if over.is_some_and(|over| over <= now) {
            // Each one that is cut off says so, as one that was not made.
            self.attempts.abort_all();
            return None;
        }
        let wake = if self.deadline.is_none() { self.launch_due(now) } else { None };
        wake.into_iter().chain(over).min()
    }

    fn launch_due(&mut self, now: Instant) -> Option<Instant> {
        for _ in 0..BATCH {
            if self.parts.health.unsettled() >= MOST_UNSETTLED {
                return None;
            }
            match self.scheduler.next(now, &mut OsEntropy) {
                NextLaunch::Send(launch) => match self.shared_charges.ask(&self.parts, &launch) {
                    Ok(()) => self.send(launch),
                    Err(wait) => self.scheduler.put_off(now, launch, now + wait, &mut OsEntropy),
                },
                NextLaunch::Until(at) => return Some(at),
                NextLaunch::Idle => return None,
            }
        }
        Some(now)
    }

    fn send(&mut self, launch: Launch) {
        self.under_way += 1;
        self.parts.attempts.record(launch.endpoint, launch.number, launch.at);
        let guard = AttemptGuard::new(launch, self.parts.scheduler.clone());
        self.attempts.spawn(run_attempt(Arc::clone(&self.parts), guard));
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Add(deliveries) => self.add(&deliveries),
            Command::AttemptDone(launch, result) => self.take_back(launch, result),
            Command::Do(work) => work(self),
            Command::Resume => {}
        }
    }

    fn take_back(&mut self, launch: Launch, result: AttemptResult) {
        self.under_way = self.under_way.saturating_sub(1);
        match result {
            AttemptResult::Answer(answer, own) => self.settle(launch, answer, own),
            AttemptResult::Gone => self.release(launch),
        }
    }

    fn settle(&mut self, launch: Launch, answer: AttemptAnswer, own: bool) {
        let (now, written) = (self.parts.clock.now(), answer.written);
        let settled = self.scheduler.settle(now, launch, answer, &mut OsEntropy);
        let attempt = settled.as_ref().and_then(|it| it.settlement.attempt.as_ref());
        let verdict = attempt.map(|attempt| attempt.verdict);
        self.shared_charges.settle(&self.parts, &launch, (verdict, written));
        let Some(mut settled) = settled else { return };
        observe::settled(&self.parts.instruments, &settled.settlement);
        if let Some((id, endpoint_state)) = settled.settlement.endpoint_state {
            self.note_endpoint_state(id, endpoint_state);
        }
        // OperationalEvent of the dispatcher's own messages would go round in circles.
        if let Some(event) = settled.event.filter(|_| !own) {
            let message = operational_events::message(&self.parts, event, &settled.settlement, now);
            settled.settlement.operational = message;
        }
        self.keep(settled.settlement);
    }

    /// Nothing is left to send: the delivery ends, and its slot is free again.
    fn release(&mut self, launch: Launch) {
        let now = self.parts.clock.now();
        let delivery = self.scheduler.cancel(now, launch.message, launch.endpoint);
        self.scheduler.settle(now, launch, AttemptAnswer::not_made(), &mut OsEntropy);
        self.shared_charges.settle(&self.parts, &launch, (None, false));
        if delivery.is_some() {
            self.keep(Settlement { delivery, ..Settlement::default() });
        }
    }

    fn note_endpoint_state(&mut self, id: EndpointId, endpoint_state: EndpointState) {
        let before = self.endpoint_states.insert(id, endpoint_state).unwrap_or_default();
        observe::moved(id, &before, &endpoint_state);
    }
}

//! The task that owns the floor: it launches what is due, and hears what comes back.

use std::collections::HashMap;
use std::sync::Arc;

use stagger::{Instant, OsEntropy};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::allowance::Allowance;
use super::carry::{Pledge, carry};
use super::inbox::{Came, Command};
use super::news;
use super::parts::Parts;
use super::settling::{Receipt, SettleQueue};
use crate::lane::{Floor, Launch, Next};
use crate::model::{Answer, Delivery, EndpointId, MessageId, Standing};
use crate::observe;
use crate::store::{Fence, Settlement};

/// Commands taken and launches made in a row, so that neither keeps the other waiting.
const BATCH: usize = 256;
/// Settlements that are not durable yet at which no more attempts are launched: what a crash would
/// repeat, and at 2 KiB each what they hold in memory.
pub(super) const MOST_UNSETTLED: usize = 8192;

/// Owns the floor. Everything that concerns lanes passes through here, one after the other.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) floor: Floor,
    parts: Arc<Parts>,
    commands: mpsc::UnboundedReceiver<Command>,
    settling: SettleQueue,
    attempts: JoinSet<()>,
    under_way: usize,
    /// What was last known of each endpoint, to tell what moved.
    standings: HashMap<EndpointId, Standing>,
    /// Set once it is to end: when it waits no longer for what is under way.
    patience: Option<Instant>,
    /// From when on it makes no attempts, because another node may lead by then; `None`: never.
    until: Option<Instant>,
    allowance: Allowance,
}

impl Runner {
    pub(super) fn new(
        parts: Arc<Parts>,
        commands: mpsc::UnboundedReceiver<Command>,
        settling: SettleQueue,
    ) -> Self {
        Self {
            floor: Floor::new(parts.options.slots),
            parts,
            commands,
            settling,
            attempts: JoinSet::new(),
            under_way: 0,
            standings: HashMap::new(),
            patience: None,
            until: None,
            allowance: Allowance::default(),
        }
    }

    /// Runs until it is told to end. Sleeps while nothing is due and nothing is told.
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
            self.parts.health.set_open(self.floor.len());
        }
    }

    /// Puts deliveries that are durable on the floor. One whose endpoint was deleted meanwhile ends; among
    /// several nodes whoever deletes an endpoint ends them.
    pub(super) fn add(&mut self, deliveries: &[Delivery]) {
        let now = self.parts.clock.now();
        for delivery in deliveries {
            if self.parts.directory.endpoint(delivery.endpoint).is_some() {
                self.floor.add(now, delivery);
            } else if self.parts.store.cluster().is_none() {
                let delivery = Some(delivery.endpoint_deleted(now));
                self.keep(Settlement { delivery, ..Settlement::default() });
            }
        }
    }

    /// What the store remembers of an endpoint, at a start.
    pub(super) fn remember(&mut self, id: EndpointId, standing: Standing) {
        self.standings.insert(id, standing);
    }

    /// Forgets an endpoint.
    pub(super) fn forget(&mut self, id: EndpointId) {
        self.floor.remove_endpoint(id);
        self.standings.remove(&id);
    }

    /// Forgets all endpoints: what is under way is broken off, and what came of it does not matter any
    /// more.
    pub(super) fn forget_all(&mut self) {
        let endpoints: Vec<EndpointId> = self.floor.endpoints().collect();
        for id in endpoints {
            self.floor.remove_endpoint(id);
        }
        self.standings.clear();
        self.attempts.abort_all();
    }

    /// Makes attempts until then, or, with `None`, for ever. What has no answer at that moment is broken
    /// off, and counts as not made; everything stays on the floor, and goes on when this is told a later
    /// time.
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

    /// Tells when all that was settled until now is durable, or was dropped with its fence.
    pub(super) fn flushed(&self) -> Receipt {
        self.settling.flushed()
    }

    /// Lets an endpoint's lane change its standing, and stores it; `None` if it is not there.
    pub(super) fn change(
        &mut self,
        id: EndpointId,
        change: impl FnOnce(&mut Floor, Instant) -> Option<Standing>,
    ) -> Option<Receipt> {
        let standing = change(&mut self.floor, self.parts.clock.now())?;
        self.note_standing(id, standing);
        let standing = Some((id, standing));
        Some(self.keep_registered(Settlement { standing, ..Settlement::default() }))
    }

    /// Cancels an open delivery, and stores that; `None` if it is not on the floor.
    pub(super) fn cancel(
        &mut self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Option<(Delivery, Receipt)> {
        let delivery = self.floor.cancel(self.parts.clock.now(), message, endpoint)?;
        let settlement = Settlement { delivery: Some(delivery), ..Settlement::default() };
        Some((delivery, self.keep_registered(settlement)))
    }

    /// Hands a settlement over to be stored.
    pub(super) fn keep(&mut self, settlement: Settlement) {
        self.parts.health.begin_settling();
        self.settling.push(settlement);
    }

    /// The same, and tells when it is durable.
    pub(super) fn keep_registered(&mut self, settlement: Settlement) -> Receipt {
        self.parts.health.begin_settling();
        self.settling.push_registered(settlement)
    }

    /// Launches nothing any more, and ends when nothing is under way or it is `patience`.
    pub(super) fn end(&mut self, patience: Instant) {
        self.patience = Some(patience);
    }

    fn is_over(&self) -> bool {
        self.patience.is_some() && self.under_way == 0
    }

    /// Launches what is due; answers when to look again by itself.
    fn launch(&mut self) -> Option<Instant> {
        let now = self.parts.clock.now();
        let over = self.patience.into_iter().chain(self.until).min();
        if over.is_some_and(|over| over <= now) {
            // Each one that is cut off says so, as one that was not made.
            self.attempts.abort_all();
            return None;
        }
        let wake = if self.patience.is_none() { self.launch_due(now) } else { None };
        wake.into_iter().chain(over).min()
    }

    fn launch_due(&mut self, now: Instant) -> Option<Instant> {
        for _ in 0..BATCH {
            if self.parts.health.unsettled() >= MOST_UNSETTLED {
                return None;
            }
            match self.floor.next(now, &mut OsEntropy) {
                Next::Send(launch) => match self.allowance.ask(&self.parts, &launch) {
                    Ok(()) => self.send(launch),
                    Err(wait) => self.floor.put_off(now, launch, now + wait, &mut OsEntropy),
                },
                Next::Until(at) => return Some(at),
                Next::Idle => return None,
            }
        }
        Some(now)
    }

    fn send(&mut self, launch: Launch) {
        self.under_way += 1;
        self.parts.arrivals.note(launch.endpoint, launch.number, launch.at);
        let pledge = Pledge::new(launch, self.parts.floor.clone());
        self.attempts.spawn(carry(Arc::clone(&self.parts), pledge));
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Add(deliveries) => self.add(&deliveries),
            Command::Back(launch, came) => self.take_back(launch, came),
            Command::Do(work) => work(self),
            Command::GoOn => {}
        }
    }

    fn take_back(&mut self, launch: Launch, came: Came) {
        self.under_way = self.under_way.saturating_sub(1);
        match came {
            Came::Answer(answer, own) => self.settle(launch, answer, own),
            Came::Gone => self.give_up(launch),
        }
    }

    fn settle(&mut self, launch: Launch, answer: Answer, own: bool) {
        let (now, written) = (self.parts.clock.now(), answer.written);
        let settled = self.floor.settle(now, launch, answer, &mut OsEntropy);
        let attempt = settled.as_ref().and_then(|it| it.settlement.attempt.as_ref());
        let verdict = attempt.map(|attempt| attempt.verdict);
        self.allowance.settle(&self.parts, &launch, (verdict, written));
        let Some(mut settled) = settled else { return };
        observe::settled(&self.parts.figures, &settled.settlement);
        if let Some((id, standing)) = settled.settlement.standing {
            self.note_standing(id, standing);
        }
        // News of the dispatcher's own messages would go round in circles.
        if let Some(news) = settled.news.filter(|_| !own) {
            let message = news::message(&self.parts, news, &settled.settlement, now);
            settled.settlement.operational = message;
        }
        self.keep(settled.settlement);
    }

    /// Nothing is left to send: the delivery ends, and its slot is free again.
    fn give_up(&mut self, launch: Launch) {
        let now = self.parts.clock.now();
        let delivery = self.floor.cancel(now, launch.message, launch.endpoint);
        self.floor.settle(now, launch, Answer::not_made(), &mut OsEntropy);
        self.allowance.settle(&self.parts, &launch, (None, false));
        if delivery.is_some() {
            self.keep(Settlement { delivery, ..Settlement::default() });
        }
    }

    fn note_standing(&mut self, id: EndpointId, standing: Standing) {
        let before = self.standings.insert(id, standing).unwrap_or_default();
        observe::moved(id, &before, &standing);
    }
}

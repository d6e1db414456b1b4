//! The loop of events: calls on their way to the store and back, alarms, what befalls nodes, and the
//! invariants that are checked at every instant.

use std::collections::BTreeMap;

use stagger_core::{Entropy, Span};
use stagger_testkit::Mix;

use super::machine::{Fault, SimMachine};
use super::node::{Mutation, NodeStep, SimNode, StoreAnswer, StoreCall, StoreModel};
use crate::leadership::{ShardId, Shards};

#[derive(Debug)]
enum SimEvent {
    /// A call reaches the store.
    Arrives(usize, u64, u64, StoreCall),
    /// An answer, or none, reaches a node.
    Answered(usize, u64, u64, StoreCall, Option<StoreAnswer>),
    Wakes(usize, u64),
    Fault(usize, Fault),
}

#[derive(Debug)]
pub(super) struct SimWorld {
    pub(super) now: u64,
    pub(super) slots: Vec<SimMachine>,
    pub(super) store_model: StoreModel,
    pub(super) invariants: Invariants,
    pub(super) chance: Mix,
    lease: Span,
    mutation: Mutation,
    events: BTreeMap<(u64, u64), SimEvent>,
    serial: u64,
}

impl SimWorld {
    pub(super) fn new(
        lease: Span,
        mutation: Mutation,
        slots: Vec<SimMachine>,
        chance: Mix,
    ) -> Self {
        Self {
            now: 0,
            slots,
            store_model: StoreModel::new(),
            invariants: Invariants::new(lease),
            chance,
            lease,
            mutation,
            events: BTreeMap::new(),
            serial: 0,
        }
    }

    /// Something befalls a node at a time.
    pub(super) fn plan(&mut self, time: u64, slot: usize, fault: Fault) {
        self.put(time, SimEvent::Fault(slot, fault));
    }

    /// A number up to `most`.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        self.chance.next_u64() % (most + 1)
    }

    /// Lets it all happen until `end`, and looks at every instant.
    pub(super) fn run(&mut self, end: u64, lively: bool) -> Result<(), String> {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((time, _), event) = entry.remove_entry();
            self.now = time;
            self.invariants.note(time, &self.slots);
            self.happen(event);
            Invariants::check_alone(time, &self.slots)?;
            if lively {
                self.invariants.check_led(time, &self.slots)?;
            }
        }
        self.now = end;
        Ok(())
    }

    fn happen(&mut self, event: SimEvent) {
        match event {
            SimEvent::Arrives(at, life, id, call) => {
                let is_lost = self.now < self.slots[at].cut_until && self.slots[at].is_mute;
                if !is_lost {
                    let answer = call.act(&mut self.store_model);
                    if let StoreAnswer::Acquired(shards) = &answer {
                        self.invariants.taken(self.now, *shards);
                    }
                    let back = self.way(at);
                    self.put(back, SimEvent::Answered(at, life, id, call, Some(answer)));
                }
            }
            SimEvent::Answered(at, life, id, call, answer) => {
                let now = self.now;
                let slot = &mut self.slots[at];
                let is_lost = now < slot.cut_until && answer.is_some();
                if slot.life != life || slot.call != Some(id) || is_lost {
                    return;
                }
                if slot.is_paused(now) {
                    let end = slot.paused_until;
                    return self.put(end, SimEvent::Answered(at, life, id, call, answer));
                }
                slot.call = None;
                if matches!(answer, Some(StoreAnswer::All(_))) && now >= slot.cut_until {
                    _ = slot.well_since.get_or_insert(now);
                }
                let Some(node) = &mut slot.node else { return };
                node.on_answer(slot.clock.at(now), call, answer);
                self.drive(at);
            }
            SimEvent::Wakes(at, life) => {
                let slot = &self.slots[at];
                if slot.life == life && slot.is_paused(self.now) {
                    self.put(slot.paused_until, SimEvent::Wakes(at, life));
                } else if slot.life == life && slot.call.is_none() {
                    self.drive(at);
                }
            }
            SimEvent::Fault(at, fault) => self.inject(at, fault),
        }
    }

    /// Lets it happen.
    fn inject(&mut self, at: usize, fault: Fault) {
        let now = self.now;
        let slot = &mut self.slots[at];
        slot.well_since = None;
        match fault {
            Fault::Start => self.start(at),
            Fault::Kill => slot.node = None,
            Fault::Leave => slot.node.iter_mut().for_each(|node| node.leaving = true),
            Fault::Pause(span) => slot.paused_until = slot.paused_until.max(now + span),
            Fault::Cut(span, is_mute) => (slot.cut_until, slot.is_mute) = (now + span, is_mute),
            Fault::Slow(delay, timeout) => (slot.delay, slot.timeout) = (delay, timeout),
        }
    }

    /// A node starts in an empty slot.
    pub(super) fn start(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        if slot.node.is_none() {
            slot.node = Some(SimNode::new(self.lease, self.mutation));
            slot.life += 1;
            (slot.call, slot.paused_until, slot.well_since) = (None, 0, None);
            self.drive(at);
        }
    }

    fn drive(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let Some(node) = &mut slot.node else { return };
        let life = slot.life;
        match node.next(slot.clock.at(self.now)) {
            NodeStep::Gone => (slot.node, slot.well_since) = (None, None),
            NodeStep::Wait(due) => {
                let time = slot.clock.reaches(due);
                self.put(time, SimEvent::Wakes(at, life));
            }
            NodeStep::Send(call) => {
                let id = self.serial;
                slot.call = Some(id);
                let late = self.now + slot.timeout;
                let time = self.way(at);
                self.put(time, SimEvent::Arrives(at, life, id, call));
                self.put(late, SimEvent::Answered(at, life, id, call, None));
            }
        }
    }

    /// The arrival time of a message sent now: mostly soon, so that late messages meet early ones.
    fn way(&mut self, at: usize) -> u64 {
        let longest = self.slots[at].delay;
        let most = if self.up_to(3) == 0 { longest } else { longest / 100 };
        self.now + self.up_to(most)
    }

    fn put(&mut self, time: u64, event: SimEvent) {
        self.serial += 1;
        self.events.insert((time, self.serial), event);
    }
}

/// Remembers when each shard was last acted on.
#[derive(Debug)]
pub(super) struct Invariants {
    last: Vec<u64>,
    lease: u64,
    /// The longest time that a shard was without a leader while a node was healthy.
    pub(super) longest: u64,
}

impl Invariants {
    pub(super) fn new(lease: Span) -> Self {
        Self { last: vec![0; Shards::COUNT], lease: lease.as_nanos(), longest: 0 }
    }

    /// Shards have a leader, whatever befalls it before it knows.
    pub(super) fn taken(&mut self, now: u64, shards: Shards) {
        shards.iter().for_each(|shard| self.last[usize::from(shard.0)] = now);
    }

    /// Before something happens at `now`: who has acted until then.
    pub(super) fn note(&mut self, now: u64, slots: &[SimMachine]) {
        for slot in slots.iter().filter(|slot| !slot.is_paused(now)) {
            let Some(node) = &slot.node else { continue };
            let until = slot.clock.reaches(node.until).min(now);
            for shard in node.led().iter() {
                let last = &mut self.last[usize::from(shard.0)];
                *last = until.max(*last);
            }
        }
    }

    /// No two nodes believe that they may act on one shard, those counted that are paused.
    pub(super) fn check_alone(now: u64, slots: &[SimMachine]) -> Result<(), String> {
        let mut acted = Shards::NONE;
        for slot in slots {
            let own = slot.acts_on(now);
            let twice = acted.common(own);
            if !twice.is_empty() {
                return Err(format!("two act on {twice:?} at {now}: {slots:#?}"));
            }
            acted = acted.union(own);
        }
        Ok(())
    }

    /// While a node has been healthy for a lease, no shard has been without a leader for a lease.
    pub(super) fn check_led(&mut self, now: u64, slots: &[SimMachine]) -> Result<(), String> {
        let well = slots.iter().filter_map(|slot| slot.well_since).min();
        if well.is_none_or(|since| since + self.lease > now) {
            return Ok(());
        }
        let oldest = self.last.iter().copied().min().unwrap_or_default();
        self.longest = self.longest.max(now - oldest);
        if now - oldest <= self.lease {
            return Ok(());
        }
        let shard =
            (0..=u8::MAX).map(ShardId).find(|shard| self.last[usize::from(shard.0)] == oldest);
        Err(format!("no node has acted on {shard:?} from {oldest} to {now}: {slots:#?}"))
    }
}

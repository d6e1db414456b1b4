//! A node as seen by the store: its state, its calls, and their answers.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Delivery, DeliveryState, EndpointId, MessageId};
use crate::store::fixture::{app, at, ep, msg};
use crate::store::memory::MemoryStore;
use crate::store::{Arrival, Cluster, Entry, Fence, Lead, Settlement, Shard, Shards};

pub(super) type Name = (MessageId, EndpointId);

/// A defect of a node, which the checks must detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    None,
    /// It accepts for shards that it has not loaded yet.
    LeadsEarly,
    /// It gives shards up while it is accepting for them.
    LeavesAccepting,
    /// It releases shards while attempts are in flight.
    LeavesSending,
    /// It forgets arrivals before it knows that the store has deleted them.
    ForgetsEarly,
}

/// The state of a node, its calls, and the answers that it has not handled yet.
pub(super) struct Node {
    pub(super) store: MemoryStore,
    pub(super) defect: Defect,
    pub(super) fence: Fence,
    /// The shards that it leads and has loaded.
    pub(super) led: Shards,
    /// The shards that it leads and has not loaded.
    pub(super) taken: Shards,
    /// The open deliveries of its shards, and whether they are in flight.
    pub(super) floor: BTreeMap<Name, bool>,
    /// Arrivals that it has received and the store may not have deleted.
    pub(super) done: BTreeSet<u64>,
    pub(super) calls: Vec<Call>,
    pub(super) answers: Vec<(Call, Answer)>,
}

#[derive(Clone, Debug)]
pub(super) enum Call {
    Accept(u64, Vec<u64>, Lead),
    Acquire(Fence, usize),
    Load(Fence, Shards),
    Release(Fence, Shards),
    Poll(Fence, Shards, Vec<u64>),
    Settle(Fence, Name),
}

#[derive(Debug)]
pub(super) enum Answer {
    Entry(Entry),
    Taken(Shards),
    Loaded(Vec<Delivery>, Vec<u64>),
    Found(Vec<Arrival>),
    Done,
    Ended,
    Lost,
}

impl Node {
    pub(super) async fn new(store: MemoryStore, defect: Defect) -> Self {
        let mut node = Self {
            store,
            defect,
            fence: Fence(0),
            led: Shards::NONE,
            taken: Shards::NONE,
            floor: BTreeMap::new(),
            done: BTreeSet::new(),
            calls: Vec::new(),
            answers: Vec::new(),
        };
        node.join().await;
        node
    }

    /// Begins anew. Its earlier calls may still arrive.
    pub(super) async fn join(&mut self) {
        self.fence = self.store.join("node").await.unwrap().fence;
        (self.led, self.taken) = (Shards::NONE, Shards::NONE);
        self.floor.clear();
        self.done.clear();
    }

    pub(super) async fn heartbeat(&mut self) {
        if self.store.heartbeat(self.fence, false).await.is_err() {
            self.join().await;
        }
    }

    pub(super) fn lead(&self) -> Lead {
        let early = self.defect == Defect::LeadsEarly;
        let shards = if early { self.led.union(self.taken) } else { self.led };
        Lead { fence: self.fence, shards }
    }

    /// Acquires free shards, one change at a time.
    pub(super) fn take(&mut self, most: usize) {
        let is_change = |call: &Call| {
            matches!(call, Call::Acquire(..) | Call::Load(..) | Call::Release(..))
                && call.fence() == self.fence
        };
        let is_free = !self.store.tables().members.cluster_view(0, 0).free.is_empty();
        if is_free && !self.asked().any(is_change) {
            self.calls.push(Call::Acquire(self.fence, most));
        }
    }

    /// Gives up the shard of an endpoint, once nothing of it is on its way.
    pub(super) fn release(&mut self, n: usize) {
        let shards = [1, 2, 3].map(|n| Shard::of(ep(n)));
        let led: Vec<_> = shards.into_iter().filter(|it| self.led.contains(*it)).collect();
        let Some(shard) = n.checked_rem(led.len()).map(|n| led[n]) else { return };
        let sending = self.floor.iter().any(|((_, to), sent)| *sent && shard == Shard::of(*to));
        if (sending && self.defect != Defect::LeavesSending) || self.is_using(shard) {
            return;
        }
        let shards = [shard].into_iter().collect();
        self.led = self.led.without(shards);
        self.floor.retain(|(_, to), _| shard != Shard::of(*to));
        self.calls.push(Call::Release(self.fence, shards));
    }

    /// Whether something that it has asked has to be answered before it gives this up.
    fn is_using(&self, shard: Shard) -> bool {
        let is_using = |call: &Call| match call {
            Call::Accept(_, to, _) => {
                self.defect != Defect::LeavesAccepting
                    && to.iter().any(|to| Shard::of(ep(*to)) == shard)
            }
            Call::Settle(_, (_, to)) => {
                self.defect != Defect::LeavesSending && Shard::of(*to) == shard
            }
            Call::Acquire(..) | Call::Load(..) | Call::Release(..) | Call::Poll(..) => true,
        };
        self.asked().any(|call| call.fence() == self.fence && is_using(call))
    }

    pub(super) fn poll(&mut self) {
        let is_poll = |call: &Call| matches!(call, Call::Poll(of, ..) if *of == self.fence);
        if self.asked().any(is_poll) {
            return;
        }
        let done = self.done.iter().copied().collect();
        if self.defect == Defect::ForgetsEarly {
            self.done.clear();
        }
        self.calls.push(Call::Poll(self.fence, self.led, done));
    }

    /// An attempt ends, and its delivery with it.
    pub(super) fn settle(&mut self, n: usize) {
        if let Some(name) = self.floor_entry(true, n) {
            self.floor.remove(&name);
            self.calls.push(Call::Settle(self.fence, name));
        }
    }

    /// One of its deliveries that are in flight, or of the others.
    pub(super) fn floor_entry(&self, is_sent: bool, n: usize) -> Option<Name> {
        let found = self.floor.iter().filter(|(_, sent)| **sent == is_sent);
        let found: Vec<_> = found.map(|(name, _)| *name).collect();
        found.get(n.checked_rem(found.len())?).copied()
    }

    /// Its calls without an answer.
    pub(super) fn asked(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().chain(self.answers.iter().map(|(call, _)| call))
    }

    pub(super) async fn hear(&mut self, call: Call, answer: Answer) {
        if call.fence() != self.fence {
            return;
        }
        match (call, answer) {
            (Call::Accept(n, to, lead), Answer::Entry(Entry::Stored(_))) => {
                let own = to.iter().filter(|to| lead.shards.contains(Shard::of(ep(**to))));
                own.for_each(|to| self.add((msg(n), ep(*to))));
            }
            (_, Answer::Ended | Answer::Entry(_)) => self.join().await,
            (_, Answer::Taken(shards)) => {
                self.taken = shards;
                self.calls.push(Call::Load(self.fence, shards));
            }
            (Call::Load(fence, shards), Answer::Lost) => self.calls.push(Call::Load(fence, shards)),
            (Call::Load(_, shards), Answer::Loaded(open, covered)) => {
                self.led = self.led.union(shards);
                self.taken = Shards::NONE;
                self.done.extend(covered);
                open.iter().for_each(|it| self.add((it.message, it.endpoint)));
            }
            (Call::Poll(_, _, done), Answer::Found(found)) => {
                done.iter().for_each(|number| {
                    self.done.remove(number);
                });
                for arrival in found {
                    self.done.insert(arrival.number);
                    arrival.delivery.iter().for_each(|it| self.add((it.message, it.endpoint)));
                }
            }
            (Call::Settle(fence, name), Answer::Lost) => self.calls.push(Call::Settle(fence, name)),
            _ => {}
        }
    }

    pub(super) fn add(&mut self, name: Name) {
        if self.lead().shards.contains(Shard::of(name.1)) {
            self.floor.entry(name).or_insert(false);
        }
    }
}

impl Call {
    /// The membership in which it was asked.
    const fn fence(&self) -> Fence {
        match self {
            Self::Acquire(fence, _)
            | Self::Load(fence, _)
            | Self::Release(fence, _)
            | Self::Poll(fence, ..)
            | Self::Settle(fence, ..)
            | Self::Accept(_, _, Lead { fence, .. }) => *fence,
        }
    }

    /// The delivery that it settles.
    pub(super) const fn settles(&self) -> Option<Name> {
        match self {
            Self::Settle(_, name) => Some(*name),
            _ => None,
        }
    }
}

pub(super) fn delivered((message, endpoint): Name) -> Settlement {
    let delivery = Delivery::new(message, endpoint, app(1), at(1));
    let delivery = Delivery { state: DeliveryState::Delivered, ..delivery };
    Settlement { delivery: Some(delivery), ..Settlement::default() }
}

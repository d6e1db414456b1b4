//! A node as seen by the store: its state, its calls, and their answers.

use std::collections::{BTreeMap, BTreeSet};

use stagger_scheduler::model::{Delivery, DeliveryId, DeliveryState};

use crate::testing::fixture::{app, at, ep, msg};
use crate::testing::shared_memory::SharedMemoryStore;
use crate::{Arrival, Cluster, ClusterAccept, Fence, Lead, Settlement, ShardId, Shards};

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
pub(super) struct ModelNode {
    pub(super) store: SharedMemoryStore,
    pub(super) defect: Defect,
    pub(super) fence: Fence,
    /// The shards that it leads and has loaded.
    pub(super) led: Shards,
    /// The shards that it leads and has not loaded.
    pub(super) acquired: Shards,
    /// The open deliveries of its shards, and whether they are in flight.
    pub(super) scheduled: BTreeMap<DeliveryId, bool>,
    /// Arrivals that it has received and the store may not have deleted.
    pub(super) done: BTreeSet<u64>,
    pub(super) calls: Vec<StoreCall>,
    pub(super) answers: Vec<(StoreCall, StoreAnswer)>,
}

#[derive(Clone, Debug)]
pub(super) enum StoreCall {
    Accept(u64, Vec<u64>, Lead),
    Acquire(Fence, usize),
    Load(Fence, Shards),
    Release(Fence, Shards),
    Poll(Fence, Shards, Vec<u64>),
    Settle(Fence, DeliveryId),
}

#[derive(Debug)]
pub(super) enum StoreAnswer {
    ClusterAccept(ClusterAccept),
    Taken(Shards),
    Loaded(Vec<Delivery>, Vec<u64>),
    Found(Vec<Arrival>),
    Done,
    Ended,
    Lost,
}

impl ModelNode {
    pub(super) async fn new(store: SharedMemoryStore, defect: Defect) -> Self {
        let mut node = Self {
            store,
            defect,
            fence: Fence(0),
            led: Shards::NONE,
            acquired: Shards::NONE,
            scheduled: BTreeMap::new(),
            done: BTreeSet::new(),
            calls: Vec::new(),
            answers: Vec::new(),
        };
        node.join().await;
        node
    }

    /// Begins anew. Its earlier calls may still arrive.
    pub(super) async fn join(&mut self) {
        self.fence = self.store.join(&"node".into()).await.unwrap().fence;
        (self.led, self.acquired) = (Shards::NONE, Shards::NONE);
        self.scheduled.clear();
        self.done.clear();
    }

    pub(super) async fn heartbeat(&mut self) {
        if self.store.heartbeat(self.fence, false).await.is_err() {
            self.join().await;
        }
    }

    pub(super) fn lead(&self) -> Lead {
        let early = self.defect == Defect::LeadsEarly;
        let shards = if early { self.led.union(self.acquired) } else { self.led };
        Lead { fence: self.fence, shards }
    }

    /// Acquires free shards, one change at a time.
    pub(super) fn take(&mut self, most: usize) {
        let is_change = |call: &StoreCall| {
            matches!(call, StoreCall::Acquire(..) | StoreCall::Load(..) | StoreCall::Release(..))
                && call.fence() == self.fence
        };
        let is_free = !self.store.state().members.cluster_view(0, 0).free.is_empty();
        if is_free && !self.asked().any(is_change) {
            self.calls.push(StoreCall::Acquire(self.fence, most));
        }
    }

    /// Gives up the shard of an endpoint, once nothing of it is on its way.
    pub(super) fn release(&mut self, n: usize) {
        let shards = [1, 2, 3].map(|n| ShardId::of(ep(n)));
        let led: Vec<_> = shards.into_iter().filter(|it| self.led.contains(*it)).collect();
        let Some(shard) = n.checked_rem(led.len()).map(|n| led[n]) else { return };
        let sending =
            self.scheduled.iter().any(|((_, to), sent)| *sent && shard == ShardId::of(*to));
        if (sending && self.defect != Defect::LeavesSending) || self.is_using(shard) {
            return;
        }
        let shards = [shard].into_iter().collect();
        self.led = self.led.without(shards);
        self.scheduled.retain(|(_, to), _| shard != ShardId::of(*to));
        self.calls.push(StoreCall::Release(self.fence, shards));
    }

    /// Whether something that it has asked has to be answered before it gives this up.
    fn is_using(&self, shard: ShardId) -> bool {
        let is_using = |call: &StoreCall| match call {
            StoreCall::Accept(_, to, _) => {
                self.defect != Defect::LeavesAccepting
                    && to.iter().any(|to| ShardId::of(ep(*to)) == shard)
            }
            StoreCall::Settle(_, (_, to)) => {
                self.defect != Defect::LeavesSending && ShardId::of(*to) == shard
            }
            StoreCall::Acquire(..)
            | StoreCall::Load(..)
            | StoreCall::Release(..)
            | StoreCall::Poll(..) => true,
        };
        self.asked().any(|call| call.fence() == self.fence && is_using(call))
    }

    pub(super) fn poll(&mut self) {
        let is_poll =
            |call: &StoreCall| matches!(call, StoreCall::Poll(of, ..) if *of == self.fence);
        if self.asked().any(is_poll) {
            return;
        }
        let done = self.done.iter().copied().collect();
        if self.defect == Defect::ForgetsEarly {
            self.done.clear();
        }
        self.calls.push(StoreCall::Poll(self.fence, self.led, done));
    }

    /// An attempt ends, and its delivery with it.
    pub(super) fn settle(&mut self, n: usize) {
        if let Some(name) = self.scheduled_entry(true, n) {
            self.scheduled.remove(&name);
            self.calls.push(StoreCall::Settle(self.fence, name));
        }
    }

    /// One of its deliveries that are in flight, or of the others.
    pub(super) fn scheduled_entry(&self, is_sent: bool, n: usize) -> Option<DeliveryId> {
        let found = self.scheduled.iter().filter(|(_, sent)| **sent == is_sent);
        let found: Vec<_> = found.map(|(name, _)| *name).collect();
        found.get(n.checked_rem(found.len())?).copied()
    }

    /// Its calls without an answer.
    pub(super) fn asked(&self) -> impl Iterator<Item = &StoreCall> {
        self.calls.iter().chain(self.answers.iter().map(|(call, _)| call))
    }

    pub(super) async fn hear(&mut self, call: StoreCall, answer: StoreAnswer) {
        if call.fence() != self.fence {
            return;
        }
        match (call, answer) {
            (
                StoreCall::Accept(n, to, lead),
                StoreAnswer::ClusterAccept(ClusterAccept::Stored(_)),
            ) => {
                let own = to.iter().filter(|to| lead.shards.contains(ShardId::of(ep(**to))));
                own.for_each(|to| self.add((msg(n), ep(*to))));
            }
            (_, StoreAnswer::Ended | StoreAnswer::ClusterAccept(_)) => self.join().await,
            (_, StoreAnswer::Taken(shards)) => {
                self.acquired = shards;
                self.calls.push(StoreCall::Load(self.fence, shards));
            }
            (StoreCall::Load(fence, shards), StoreAnswer::Lost) => {
                self.calls.push(StoreCall::Load(fence, shards));
            }
            (StoreCall::Load(_, shards), StoreAnswer::Loaded(open, covered)) => {
                self.led = self.led.union(shards);
                self.acquired = Shards::NONE;
                self.done.extend(covered);
                open.iter().for_each(|it| self.add((it.message, it.endpoint)));
            }
            (StoreCall::Poll(_, _, done), StoreAnswer::Found(found)) => {
                done.iter().for_each(|number| {
                    self.done.remove(number);
                });
                for arrival in found {
                    self.done.insert(arrival.number);
                    arrival.delivery.iter().for_each(|it| self.add((it.message, it.endpoint)));
                }
            }
            (StoreCall::Settle(fence, name), StoreAnswer::Lost) => {
                self.calls.push(StoreCall::Settle(fence, name));
            }
            _ => {}
        }
    }

    pub(super) fn add(&mut self, name: DeliveryId) {
        if self.lead().shards.contains(ShardId::of(name.1)) {
            self.scheduled.entry(name).or_insert(false);
        }
    }
}

impl StoreCall {
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
    pub(super) const fn settles(&self) -> Option<DeliveryId> {
        match self {
            Self::Settle(_, name) => Some(*name),
            _ => None,
        }
    }
}

pub(super) fn delivered((message, endpoint): DeliveryId) -> Settlement {
    let delivery = Delivery::new(message, endpoint, app(1), at(1));
    let delivery = Delivery { state: DeliveryState::Delivered, ..delivery };
    Settlement { delivery: Some(delivery), ..Settlement::default() }
}

//! Shards go from node to node while messages come in, whichever calls and answers pass each other: no
//! delivery is lost, and none is sent twice, but by a node that does not know yet that it was evicted.

use std::collections::{BTreeMap, BTreeSet};

use stagger::Entropy;
use stagger_scheduler::model::{Delivery, DeliveryId};
use stagger_testkit::Mix;
use tokio::runtime::Builder;

use super::node::{Defect, ModelNode, StoreAnswer, StoreCall, delivered};
use crate::testing::fixture::{at, furnish, message};
use crate::testing::shared_memory::SharedMemoryStore;
use crate::{Cluster, DeliveryStore, Fence, ReplayRequest, Shards};

/// Runs, each with many events: each defect is found in a third of them.
const RUNS: u64 = 1000;
const EVENTS: usize = 300;

#[test]
fn healthy_nodes_lose_nothing_and_send_nothing_twice() {
    for seed in 0..RUNS {
        assert_eq!(play(seed, Defect::None), Ok(()), "seed {seed}");
    }
}

#[test]
fn nodes_with_a_defect_are_found() {
    let defects =
        [Defect::LeadsEarly, Defect::LeavesAccepting, Defect::LeavesSending, Defect::ForgetsEarly];
    for defect in defects {
        let found = (0..RUNS).find(|seed| play(*seed, defect).is_err());
        assert!(found.is_some(), "{defect:?}");
    }
}

/// The next event, at one of the nodes. Numbers choose among the candidates.
#[derive(Clone, Copy, Debug)]
enum HandoverEvent {
    /// Messages come in.
    Accept(usize),
    Replay(usize),
    Acquire(usize),
    Release(usize),
    Poll,
    Send(usize),
    Settle(usize),
    Heartbeat,
    EvictOther,
    /// A call reaches the store.
    Arrive(usize),
    /// A call is lost, or its answer.
    Lose(usize, bool),
    /// An answer reaches the node.
    Hear(usize),
}

impl HandoverEvent {
    fn draw(chance: &mut Mix) -> Self {
        let word = chance.next_u64();
        let nth = usize::from(word.to_le_bytes()[7]);
        match word % 100 {
            0..8 => Self::Accept(nth),
            8..10 => Self::Replay(nth),
            10..18 => Self::Acquire(nth + 1),
            18..24 => Self::Release(nth),
            24..29 => Self::Poll,
            29..40 => Self::Send(nth),
            40..50 => Self::Settle(nth),
            50 => Self::Heartbeat,
            51 => Self::EvictOther,
            52..54 => Self::Lose(nth, word.is_multiple_of(7)),
            54..77 => Self::Arrive(nth),
            _ => Self::Hear(nth),
        }
    }
}

/// Plays a run until everything is idle; returns the first violation.
fn play(seed: u64, defect: Defect) -> Result<(), String> {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (mut world, mut chance) = (HandoverWorld::new(defect).await, Mix::new(seed));
        for _ in 0..EVENTS {
            let who = usize::from(chance.next_u64().is_multiple_of(2));
            world.happen(who, HandoverEvent::draw(&mut chance)).await?;
        }
        world.rest().await
    })
}

/// Two nodes at one store.
struct HandoverWorld {
    store: SharedMemoryStore,
    nodes: Vec<ModelNode>,
    messages: u64,
    /// Attempts whose settlement has not reached the store, and their owners.
    under_way: BTreeMap<DeliveryId, Fence>,
}

impl HandoverWorld {
    async fn new(defect: Defect) -> Self {
        let store = SharedMemoryStore::default();
        furnish(&store).await;
        let nodes = vec![
            ModelNode::new(store.handle(), defect).await,
            ModelNode::new(store.handle(), defect).await,
        ];
        Self { store, nodes, messages: 0, under_way: BTreeMap::new() }
    }

    async fn happen(&mut self, who: usize, event: HandoverEvent) -> Result<(), String> {
        let is_idle = match event {
            HandoverEvent::Arrive(_) => self.nodes[who].calls.is_empty(),
            HandoverEvent::Hear(_) => self.nodes[who].answers.is_empty(),
            _ => false,
        };
        let who = if is_idle { 1 - who } else { who };
        let other = self.nodes[1 - who].fence;
        let node = &mut self.nodes[who];
        match event {
            HandoverEvent::Accept(to) => {
                self.messages += 1;
                let to = [vec![1], vec![2], vec![1, 2], vec![3]][to % 4].clone();
                node.calls.push(StoreCall::Accept(self.messages, to, node.lead()));
            }
            HandoverEvent::Replay(n) => self.replay(n).await,
            HandoverEvent::Acquire(most) => node.take(most),
            HandoverEvent::Release(n) => node.release(n),
            HandoverEvent::Poll => node.poll(),
            HandoverEvent::Send(n) => return self.send(who, n),
            HandoverEvent::Settle(n) => node.settle(n),
            HandoverEvent::Heartbeat => node.heartbeat().await,
            HandoverEvent::EvictOther => self.evict(other),
            HandoverEvent::Arrive(n) if !node.calls.is_empty() => {
                let call = node.calls.remove(n % node.calls.len());
                let answer = self.make(who, &call).await;
                self.nodes[who].answers.push((call, answer));
            }
            HandoverEvent::Lose(n, took_effect) if !node.calls.is_empty() => {
                let n = n % node.calls.len();
                // All others answer in the end.
                if matches!(
                    node.calls[n],
                    StoreCall::Load(..) | StoreCall::Poll(..) | StoreCall::Settle(..)
                ) {
                    let call = node.calls.remove(n);
                    if took_effect {
                        self.make(who, &call).await;
                    }
                    self.nodes[who].answers.push((call, StoreAnswer::Lost));
                }
            }
            HandoverEvent::Hear(n) if !node.answers.is_empty() => {
                let (call, answer) = node.answers.remove(n % node.answers.len());
                node.hear(call, answer).await;
            }
            HandoverEvent::Arrive(_) | HandoverEvent::Lose(..) | HandoverEvent::Hear(_) => {}
        }
        Ok(())
    }

    /// Replays a delivery that has ended, unless its end is still being stored.
    async fn replay(&self, n: usize) {
        let asked = self.nodes.iter().flat_map(ModelNode::asked);
        let told: BTreeSet<DeliveryId> = asked.filter_map(StoreCall::settles).collect();
        let ended =
            |it: &&Delivery| !it.state.is_open() && !told.contains(&(it.message, it.endpoint));
        let found = self.store.tables().deliveries.values().filter(ended).nth(n).copied();
        if let Some(delivery) = found {
            let one = ReplayRequest::One(delivery.message, delivery.endpoint);
            self.store.replay(one, at(9), 1).await.unwrap();
        }
    }

    /// Starts an attempt of an open delivery. No other node may have it in flight, as long as this
    /// node is a member.
    fn send(&mut self, who: usize, n: usize) -> Result<(), String> {
        let node = &mut self.nodes[who];
        let Some(name) = node.scheduled_entry(false, n) else { return Ok(()) };
        node.scheduled.insert(name, true);
        let (state, tables) = (self.store.state(), self.store.tables());
        if !state.members.is_member(node.fence) {
            return Ok(());
        }
        if !tables.open.contains(&name) {
            return Err(format!("{name:?} has ended and is sent again"));
        }
        let before = self.under_way.insert(name, node.fence);
        match before.filter(|fence| state.members.is_member(*fence)) {
            Some(_) => Err(format!("{name:?} is in flight twice")),
            None => Ok(()),
        }
    }

    fn evict(&self, fence: Fence) {
        self.store.state().members.leave(fence);
    }

    /// A call takes effect.
    async fn make(&mut self, who: usize, call: &StoreCall) -> StoreAnswer {
        let store = &self.nodes[who].store;
        match call.clone() {
            StoreCall::Accept(n, to, lead) => {
                let new = message(n, to[0] / 3 + 1, &to);
                StoreAnswer::ClusterAccept(
                    Cluster::accept(store, lead, u64::MAX, vec![new]).await.unwrap(),
                )
            }
            StoreCall::Acquire(fence, most) => {
                store.acquire(fence, most).await.map_or(StoreAnswer::Ended, StoreAnswer::Taken)
            }
            StoreCall::Load(_, shards) => {
                let mut open = Vec::new();
                let covered = store.load(shards, &mut |page| open.extend(page)).await.unwrap();
                StoreAnswer::Loaded(open, covered)
            }
            StoreCall::Release(fence, shards) => {
                store.release(fence, shards).await.unwrap();
                StoreAnswer::Done
            }
            StoreCall::Poll(_, shards, done) => {
                StoreAnswer::Found(store.arrivals(shards, &done, 2).await.unwrap())
            }
            StoreCall::Settle(fence, name) => {
                // The node has the delivery as it was when it last arrived: after its last replay.
                let mut settlement = delivered(name);
                let replays = store.delivery(name.0, name.1).await.unwrap().map(|it| it.replays);
                if let (Some(delivery), Some(replays)) = (&mut settlement.delivery, replays) {
                    delivery.replays = replays;
                }
                if store.settle(fence, vec![settlement]).await.is_err() {
                    return StoreAnswer::Ended;
                }
                self.under_way.remove(&name);
                StoreAnswer::Done
            }
        }
    }

    /// Makes all calls, leads all shards and finds all arrivals: then each open delivery must be
    /// known to its leader, and to no other node.
    async fn rest(&mut self) -> Result<(), String> {
        for _ in 0..2 {
            for who in 0..2 {
                self.nodes[who].heartbeat().await;
                self.nodes[who].take(Shards::COUNT);
                self.nodes[who].poll();
                while !self.nodes[who].calls.is_empty() || !self.nodes[who].answers.is_empty() {
                    self.happen(who, HandoverEvent::Arrive(0)).await?;
                    self.happen(who, HandoverEvent::Hear(0)).await?;
                    if !self.nodes[who].done.is_empty() {
                        self.nodes[who].poll();
                    }
                }
            }
        }
        let known = self.nodes.iter().flat_map(|node| node.scheduled.keys().copied());
        let mut known: Vec<DeliveryId> = known.collect();
        known.sort_unstable();
        let open: Vec<DeliveryId> = self.store.tables().open.iter().copied().collect();
        if known == open { Ok(()) } else { Err(format!("{open:?} are open, {known:?} known")) }
    }
}

//! Shards go from node to node while messages come in, whichever calls and answers pass each other: no
//! delivery is lost, and none is sent twice, but by a node that does not know yet that it was evicted.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::runtime::Builder;

use super::MemoryStore;
use crate::model::{Delivery, DeliveryState, EndpointId, MessageId};
use crate::store::fixture::{app, at, ep, furnish, message, msg};
use crate::store::{
    Arrival, Cluster, Entry, Fence, Lead, ReplayRequest, Settlement, Shard, Shards, Store,
};

/// What happens next, at one of the nodes. Numbers choose among what is there.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Messages come in.
    Accept(usize),
    Replay(usize),
    Take(usize),
    GiveUp(usize),
    Poll,
    Send(usize),
    Settle(usize),
    Beat,
    EvictOther,
    /// A call reaches the store.
    Arrive(usize),
    /// A call is lost, or its answer.
    Lose(usize, bool),
    /// An answer reaches the node.
    Hear(usize),
}

/// What a node may do wrong, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// It accepts for shards that it has not loaded yet.
    LeadsEarly,
    /// It gives shards up while it is accepting for them.
    LeavesAccepting,
    /// It gives shards up while attempts are under way.
    LeavesSending,
    /// It forgets what has arrived before it knows that the store has.
    ForgetsEarly,
}

proptest! {
    #[test]
    fn healthy_nodes_lose_nothing_and_send_nothing_twice(events in events()) {
        prop_assert_eq!(play(&events, Defect::None), Ok(()));
    }
}

#[test]
fn nodes_with_a_defect_are_found() {
    let defects =
        [Defect::LeadsEarly, Defect::LeavesAccepting, Defect::LeavesSending, Defect::ForgetsEarly];
    for defect in defects {
        let config = Config {
            cases: 5_000,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let found = TestRunner::new_with_rng(config, chance)
            .run(&events(), |events| play(&events, defect).map_err(TestCaseError::fail));
        assert!(found.is_err(), "{defect:?}");
    }
}

fn events() -> impl Strategy<Value = Vec<(usize, Event)>> {
    let nth = || 0..8_usize;
    let event = prop_oneof![
        6 => nth().prop_map(Event::Accept),
        2 => nth().prop_map(Event::Replay),
        3 => (1..300_usize).prop_map(Event::Take),
        3 => nth().prop_map(Event::GiveUp),
        4 => Just(Event::Poll),
        8 => nth().prop_map(Event::Send),
        8 => nth().prop_map(Event::Settle),
        1 => Just(Event::Beat),
        1 => Just(Event::EvictOther),
        20 => nth().prop_map(Event::Arrive),
        2 => (nth(), any::<bool>()).prop_map(|(n, taken)| Event::Lose(n, taken)),
        20 => nth().prop_map(Event::Hear),
    ];
    vec((0..2_usize, event), 1..200)
}

/// Plays the events, then lets everything come to rest; what went wrong, if something did.
fn play(events: &[(usize, Event)], defect: Defect) -> Result<(), String> {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut world = World::new(defect).await;
        for (who, event) in events {
            world.happen(*who, *event).await?;
        }
        world.rest().await
    })
}

type Name = (MessageId, EndpointId);

/// Two nodes at one store.
struct World {
    store: MemoryStore,
    nodes: Vec<Node>,
    messages: u64,
    /// The attempts whose settlement has not reached the store, and whose they are.
    under_way: BTreeMap<Name, Fence>,
}

/// What a node knows, what it has asked, and what it was answered and has not heard yet.
struct Node {
    store: MemoryStore,
    defect: Defect,
    fence: Fence,
    /// What it leads and has loaded.
    led: Shards,
    /// What it leads and has not loaded.
    taken: Shards,
    /// The open deliveries of what it leads, and whether they are under way.
    floor: BTreeMap<Name, bool>,
    /// Arrivals that it has heard of and the store may not have forgotten.
    done: BTreeSet<u64>,
    calls: Vec<Call>,
    answers: Vec<(Call, Answer)>,
}

#[derive(Clone, Debug)]
enum Call {
    Accept(u64, Vec<u64>, Lead),
    Take(Fence, usize),
    Load(Fence, Shards),
    GiveUp(Fence, Shards),
    Poll(Fence, Shards, Vec<u64>),
    Settle(Fence, Name),
}

#[derive(Debug)]
enum Answer {
    Entry(Entry),
    Taken(Shards),
    Loaded(Vec<Delivery>, Vec<u64>),
    Found(Vec<Arrival>),
    Done,
    Ended,
    Lost,
}

impl World {
    async fn new(defect: Defect) -> Self {
        let store = MemoryStore::shared();
        furnish(&store).await;
        let nodes =
            vec![Node::new(store.handle(), defect).await, Node::new(store.handle(), defect).await];
        Self { store, nodes, messages: 0, under_way: BTreeMap::new() }
    }

    async fn happen(&mut self, who: usize, event: Event) -> Result<(), String> {
        let other = self.nodes[1 - who].fence;
        let node = &mut self.nodes[who];
        match event {
            Event::Accept(to) => {
                self.messages += 1;
                let to = [vec![1], vec![2], vec![1, 2], vec![3]][to % 4].clone();
                node.calls.push(Call::Accept(self.messages, to, node.lead()));
            }
            Event::Replay(n) => self.replay(n).await,
            Event::Take(most) => node.take(most),
            Event::GiveUp(n) => node.give_up(n),
            Event::Poll => node.poll(),
            Event::Send(n) => return self.send(who, n),
            Event::Settle(n) => node.settle(n),
            Event::Beat => node.beat().await,
            Event::EvictOther => self.evict(other),
            Event::Arrive(n) if !node.calls.is_empty() => {
                let call = node.calls.remove(n % node.calls.len());
                let answer = self.make(who, &call).await;
                self.nodes[who].answers.push((call, answer));
            }
            Event::Lose(n, taken) if !node.calls.is_empty() => {
                let n = n % node.calls.len();
                // All others answer in the end.
                if matches!(node.calls[n], Call::Load(..) | Call::Poll(..) | Call::Settle(..)) {
                    let call = node.calls.remove(n);
                    if taken {
                        self.make(who, &call).await;
                    }
                    self.nodes[who].answers.push((call, Answer::Lost));
                }
            }
            Event::Hear(n) if !node.answers.is_empty() => {
                let (call, answer) = node.answers.remove(n % node.answers.len());
                node.hear(call, answer).await;
            }
            Event::Arrive(_) | Event::Lose(..) | Event::Hear(_) => {}
        }
        Ok(())
    }

    /// A delivery that has ended is made open again, unless its end is still being told to the store.
    async fn replay(&self, n: usize) {
        let asked = self.nodes.iter().flat_map(Node::asked);
        let told: BTreeSet<Name> = asked.filter_map(Call::settles).collect();
        let ended =
            |it: &&Delivery| !it.state.is_open() && !told.contains(&(it.message, it.endpoint));
        let found = self.store.tables().deliveries.values().filter(ended).nth(n).copied();
        if let Some(delivery) = found {
            let one = ReplayRequest::One(delivery.message, delivery.endpoint);
            self.store.replay(one, at(9), 1).await.unwrap();
        }
    }

    /// An attempt begins: of what is open, and by nobody else, as long as the node is a member.
    fn send(&mut self, who: usize, n: usize) -> Result<(), String> {
        let node = &mut self.nodes[who];
        let Some(name) = node.floor_entry(false, n) else { return Ok(()) };
        node.floor.insert(name, true);
        let tables = self.store.tables();
        if !tables.members.is_member(node.fence) {
            return Ok(());
        }
        if !tables.open.contains(&name) {
            return Err(format!("{name:?} has ended and is sent again"));
        }
        let before = self.under_way.insert(name, node.fence);
        match before.filter(|fence| tables.members.is_member(*fence)) {
            Some(_) => Err(format!("{name:?} is sent by two at once")),
            None => Ok(()),
        }
    }

    fn evict(&self, fence: Fence) {
        self.store.tables().members.leave(fence);
    }

    /// A call takes effect.
    async fn make(&mut self, who: usize, call: &Call) -> Answer {
        let store = &self.nodes[who].store;
        match call.clone() {
            Call::Accept(n, to, lead) => {
                let new = message(n, to[0] / 3 + 1, &to);
                Answer::Entry(Cluster::accept(store, lead, u64::MAX, vec![new]).await.unwrap())
            }
            Call::Take(fence, most) => {
                store.take(fence, most).await.map_or(Answer::Ended, Answer::Taken)
            }
            Call::Load(_, shards) => {
                let mut open = Vec::new();
                let covered = store.load(shards, &mut |page| open.extend(page)).await.unwrap();
                Answer::Loaded(open, covered)
            }
            Call::GiveUp(fence, shards) => {
                store.give_up(fence, shards).await.unwrap();
                Answer::Done
            }
            Call::Poll(_, shards, done) => {
                Answer::Found(store.arrivals(shards, &done, 2).await.unwrap())
            }
            Call::Settle(fence, name) => {
                if store.settle(fence, vec![delivered(name)]).await.is_err() {
                    return Answer::Ended;
                }
                self.under_way.remove(&name);
                Answer::Done
            }
        }
    }

    /// All calls are made and answered, all shards led, and all arrivals found: what is open must be known
    /// to its leader, and to nobody else.
    async fn rest(&mut self) -> Result<(), String> {
        for _ in 0..2 {
            for who in 0..2 {
                self.nodes[who].beat().await;
                self.nodes[who].take(Shards::COUNT);
                self.nodes[who].poll();
                while !self.nodes[who].calls.is_empty() || !self.nodes[who].answers.is_empty() {
                    self.happen(who, Event::Arrive(0)).await?;
                    self.happen(who, Event::Hear(0)).await?;
                    if !self.nodes[who].done.is_empty() {
                        self.nodes[who].poll();
                    }
                }
            }
        }
        let known = self.nodes.iter().flat_map(|node| node.floor.keys().copied());
        let mut known: Vec<Name> = known.collect();
        known.sort_unstable();
        let open: Vec<Name> = self.store.tables().open.iter().copied().collect();
        if known == open { Ok(()) } else { Err(format!("{open:?} are open, {known:?} known")) }
    }
}

impl Node {
    async fn new(store: MemoryStore, defect: Defect) -> Self {
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

    /// Begins anew. What it has asked before is on its way all the same.
    async fn join(&mut self) {
        self.fence = self.store.join("node").await.unwrap().fence;
        (self.led, self.taken) = (Shards::NONE, Shards::NONE);
        self.floor.clear();
        self.done.clear();
    }

    async fn beat(&mut self) {
        if self.store.beat(self.fence, 0, false).await.is_err() {
            self.join().await;
        }
    }

    fn lead(&self) -> Lead {
        let early = self.defect == Defect::LeadsEarly;
        let shards = if early { self.led.union(self.taken) } else { self.led };
        Lead { fence: self.fence, shards }
    }

    fn take(&mut self, most: usize) {
        let is_changing = |call: &Call| match call {
            Call::Take(fence, _) | Call::Load(fence, _) | Call::GiveUp(fence, _) => {
                *fence == self.fence
            }
            _ => false,
        };
        if !self.asked().any(is_changing) {
            self.calls.push(Call::Take(self.fence, most));
        }
    }

    /// Gives up the shard of an endpoint, once nothing of it is on its way.
    fn give_up(&mut self, n: usize) {
        let shard: Shards = [Shard::of(ep([1, 2, 3][n % 3]))].into_iter().collect();
        let defect = self.defect;
        let is_needed = |call: &Call| match call {
            Call::Accept(_, _, lead) => {
                defect != Defect::LeavesAccepting && !lead.shards.common(shard).is_empty()
            }
            Call::Settle(..) => defect != Defect::LeavesSending,
            Call::Take(..) | Call::Load(..) | Call::GiveUp(..) | Call::Poll(..) => true,
        };
        let sending =
            self.floor.iter().any(|((_, to), sent)| *sent && shard.contains(Shard::of(*to)));
        let is_busy = sending && defect != Defect::LeavesSending;
        if is_busy || self.asked().any(is_needed) || self.led.common(shard).is_empty() {
            return;
        }
        self.led = self.led.without(shard);
        self.floor.retain(|(_, to), _| !shard.contains(Shard::of(*to)));
        self.calls.push(Call::GiveUp(self.fence, shard));
    }

    fn poll(&mut self) {
        let fence = self.fence;
        if self.asked().any(|call| matches!(call, Call::Poll(of, ..) if *of == fence)) {
            return;
        }
        let done = self.done.iter().copied().collect();
        if self.defect == Defect::ForgetsEarly {
            self.done.clear();
        }
        self.calls.push(Call::Poll(fence, self.led, done));
    }

    /// An attempt ends, and its delivery with it.
    fn settle(&mut self, n: usize) {
        if let Some(name) = self.floor_entry(true, n) {
            self.floor.remove(&name);
            self.calls.push(Call::Settle(self.fence, name));
        }
    }

    /// One of its deliveries that are under way, or of those that are not.
    fn floor_entry(&self, is_sent: bool, n: usize) -> Option<Name> {
        let found = self.floor.iter().filter(|(_, sent)| **sent == is_sent);
        let found: Vec<_> = found.map(|(name, _)| *name).collect();
        found.get(n.checked_rem(found.len())?).copied()
    }

    /// What it has asked and not heard of.
    fn asked(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().chain(self.answers.iter().map(|(call, _)| call))
    }

    async fn hear(&mut self, call: Call, answer: Answer) {
        let (Call::Take(fence, _)
        | Call::Load(fence, _)
        | Call::GiveUp(fence, _)
        | Call::Poll(fence, ..)
        | Call::Settle(fence, ..)
        | Call::Accept(_, _, Lead { fence, .. })) = &call;
        if *fence != self.fence {
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

    fn add(&mut self, name: Name) {
        if self.lead().shards.contains(Shard::of(name.1)) {
            self.floor.entry(name).or_insert(false);
        }
    }
}

impl Call {
    /// The delivery whose end it tells.
    const fn settles(&self) -> Option<Name> {
        match self {
            Self::Settle(_, name) => Some(*name),
            _ => None,
        }
    }
}

fn delivered((message, endpoint): Name) -> Settlement {
    let delivery = Delivery::new(message, endpoint, app(1), at(1));
    let delivery = Delivery { state: DeliveryState::Delivered, ..delivery };
    Settlement { delivery: Some(delivery), ..Settlement::default() }
}

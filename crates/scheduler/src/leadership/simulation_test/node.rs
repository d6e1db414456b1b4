//! A node of the simulation, and the store that it shares.

use std::collections::{BTreeMap, VecDeque};

use stagger_core::{Instant, Span};

use crate::leadership::{
    ClusterMember, ClusterView, Fence, Membership, NodeIdentity, ShardId, Shards,
};

/// A call of a node to the store.
#[derive(Clone, Copy, Debug)]
pub(super) enum StoreCall {
    Join,
    /// Something that says nothing of the node.
    Ask,
    Heartbeat(Fence, bool),
    Evict(Fence, u64),
    Release(Fence, Shards),
    Acquire(Fence, usize),
    Leave(Fence),
}

/// An answer of the store.
#[derive(Clone, Debug)]
pub(super) enum StoreAnswer {
    Joined(Fence),
    Done,
    All(ClusterView),
    Acquired(Shards),
    Conflict,
}

/// The rule that a mutated node breaks: the checks must detect each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    None,
    /// It acts for longer than the others wait.
    HoldsTooLong,
    /// Its time counts from the answer to a beat instead of from its sending.
    CountsFromTheAnswer,
    /// It goes on as this member when it does not know whether shards were given up.
    KeepsAfterLostRelease,
    /// It beats on and on though no answers come.
    HeartbeatsBlindly,
}

/// The next step of a node.
#[derive(Debug)]
pub(super) enum NodeStep {
    Send(StoreCall),
    Wait(Instant),
    Gone,
}

#[derive(Debug)]
pub(super) struct SimNode {
    lease: Span,
    mutation: Mutation,
    membership: Membership,
    fence: Option<Fence>,
    /// The shards that it believes to lead, and the time until which it may act on them.
    led: Shards,
    pub(super) until: Instant,
    sent: Option<Instant>,
    /// Whether its last call was answered.
    answered: bool,
    pub(super) leaving: bool,
    todo: VecDeque<StoreCall>,
}

impl SimNode {
    pub(super) fn new(lease: Span, mutation: Mutation) -> Self {
        Self {
            lease,
            mutation,
            membership: Membership::new(lease),
            fence: None,
            led: Shards::NONE,
            until: Instant::ORIGIN,
            sent: None,
            answered: true,
            leaving: false,
            todo: VecDeque::new(),
        }
    }

    /// The shards on which it may act now.
    pub(super) fn acts_on(&self, now: Instant) -> Shards {
        if now < self.until { self.led } else { Shards::NONE }
    }

    pub(super) const fn led(&self) -> Shards {
        self.led
    }

    pub(super) fn next(&mut self, now: Instant) -> NodeStep {
        if self.fence.is_none() && self.leaving {
            return NodeStep::Gone;
        }
        if !self.answered && self.mutation != Mutation::HeartbeatsBlindly {
            return NodeStep::Send(StoreCall::Ask);
        }
        let Some(fence) = self.fence else { return NodeStep::Send(StoreCall::Join) };
        if let Some(call) = self.todo.pop_front() {
            return NodeStep::Send(call);
        }
        if let Some(due) = self.sent.map(|sent| sent + self.membership.heartbeat_interval())
            && now < due
        {
            return NodeStep::Wait(due);
        }
        self.sent = Some(now);
        NodeStep::Send(StoreCall::Heartbeat(fence, self.leaving))
    }

    /// Handles the answer to a call; `None` if no answer came in time.
    pub(super) fn on_answer(&mut self, now: Instant, call: StoreCall, answer: Option<StoreAnswer>) {
        self.answered = answer.is_some();
        match (call, answer) {
            (_, Some(StoreAnswer::Joined(fence))) => self.fence = Some(fence),
            (_, Some(StoreAnswer::All(cluster_view))) => self.on_cluster_view(now, &cluster_view),
            (_, Some(StoreAnswer::Acquired(shards))) => self.led = self.led.union(shards),
            (StoreCall::Leave(_), _) | (_, Some(StoreAnswer::Conflict)) => self.lose(),
            (StoreCall::Release(..), None) if self.mutation != Mutation::KeepsAfterLostRelease => {
                self.lose();
            }
            _ => {}
        }
    }

    fn lose(&mut self) {
        let (leaving, answered) = (self.leaving, self.answered);
        *self = Self { leaving, answered, ..Self::new(self.lease, self.mutation) };
    }

    fn on_cluster_view(&mut self, now: Instant, cluster_view: &ClusterView) {
        let (Some(fence), Some(sent)) = (self.fence, self.sent) else { return };
        let lease_validity = match self.mutation {
            Mutation::HoldsTooLong => self.membership.failure_timeout().saturating_mul(2),
            _ => self.membership.lease_validity(),
        };
        let from = if self.mutation == Mutation::CountsFromTheAnswer { now } else { sent };
        self.until = from + lease_validity;
        let own = cluster_view.members.iter().find(|member| member.fence == fence);
        self.led = own.map_or(Shards::NONE, |member| member.shards);
        let actions = self.membership.on_cluster_view(now, fence, cluster_view);
        self.todo.extend(
            actions.evict.into_iter().map(|(dead, heartbeat)| StoreCall::Evict(dead, heartbeat)),
        );
        let given = some(self.led, actions.release);
        self.led = self.led.without(given);
        if !given.is_empty() {
            self.todo.push_back(StoreCall::Release(fence, given));
        }
        if actions.acquire > 0 && !self.leaving {
            self.todo.push_back(StoreCall::Acquire(fence, actions.acquire));
        }
        if self.leaving && self.led.is_empty() {
            self.todo.push_back(StoreCall::Leave(fence));
        }
    }
}

impl StoreCall {
    /// Makes the call in the store.
    pub(super) fn act(self, store_model: &mut StoreModel) -> StoreAnswer {
        match self {
            Self::Join => StoreAnswer::Joined(store_model.join()),
            Self::Heartbeat(fence, leaving) => store_model
                .heartbeat(fence, leaving)
                .map_or(StoreAnswer::Conflict, StoreAnswer::All),
            Self::Acquire(fence, most) => store_model
                .acquire(fence, most)
                .map_or(StoreAnswer::Conflict, StoreAnswer::Acquired),
            Self::Evict(fence, heartbeat) => {
                _ = store_model.evict(fence, heartbeat);
                StoreAnswer::Done
            }
            Self::Release(fence, shards) => {
                store_model.release(fence, shards);
                StoreAnswer::Done
            }
            Self::Leave(fence) => {
                store_model.leave(fence);
                StoreAnswer::Done
            }
            Self::Ask => StoreAnswer::Done,
        }
    }
}

/// The store that all nodes share.
#[derive(Debug)]
pub(super) struct StoreModel {
    members: BTreeMap<Fence, ClusterMember>,
    free: Shards,
    last: u64,
    /// Counts the times that a shard changed hands.
    pub(super) moved: usize,
}

impl StoreModel {
    pub(super) fn new() -> Self {
        Self { members: BTreeMap::new(), free: Shards::ALL, last: 0, moved: 0 }
    }

    pub(super) fn join(&mut self) -> Fence {
        self.last += 1;
        let fence = Fence(self.last);
        let (node, shards) = (NodeIdentity::default(), Shards::NONE);
        self.members
            .insert(fence, ClusterMember { fence, node, heartbeat: 0, leaving: false, shards });
        fence
    }

    pub(super) fn heartbeat(&mut self, fence: Fence, leaving: bool) -> Option<ClusterView> {
        let member = self.members.get_mut(&fence)?;
        member.heartbeat += 1;
        member.leaving = leaving;
        let members = self.members.values().cloned().collect();
        Some(ClusterView { members, free: self.free, ..ClusterView::default() })
    }

    pub(super) fn evict(&mut self, fence: Fence, heartbeat: u64) -> bool {
        let stands = self.members.get(&fence).is_some_and(|member| member.heartbeat == heartbeat);
        if stands {
            self.leave(fence);
        }
        stands
    }

    pub(super) fn acquire(&mut self, fence: Fence, most: usize) -> Option<Shards> {
        let member = self.members.get_mut(&fence)?;
        let taken: Shards = self.free.iter().take(most).collect();
        member.shards = member.shards.union(taken);
        self.free = self.free.without(taken);
        self.moved += taken.len();
        Some(taken)
    }

    pub(super) fn release(&mut self, fence: Fence, shards: Shards) {
        let Some(member) = self.members.get_mut(&fence) else { return };
        let given = member.shards.common(shards);
        member.shards = member.shards.without(given);
        self.free = self.free.union(given);
        self.moved += given.len();
    }

    pub(super) fn leave(&mut self, fence: Fence) {
        if let Some(member) = self.members.remove(&fence) {
            self.free = self.free.union(member.shards);
            self.moved += member.shards.len();
        }
    }
}

/// The first so many of a set.
pub(super) fn some(shards: Shards, count: usize) -> Shards {
    shards.iter().take(count).collect::<Vec<ShardId>>().into_iter().collect()
}

//! The members as one node sees them, those that miss their heartbeats, and the actions that a member takes
//! after each heartbeat.

use std::collections::BTreeMap;

use stagger_core::{Instant, Span};

use super::shard::Shards;

/// The heartbeat counter of each member, and the time for which it has stood still.
#[derive(Debug)]
pub(super) struct FailureDetector {
    seen: BTreeMap<Fence, LastHeartbeat>,
}

#[derive(Clone, Copy, Debug)]
struct LastHeartbeat {
    heartbeat: u64,
    silence: Span,
}

impl FailureDetector {
    pub(super) const fn new() -> Self {
        Self { seen: BTreeMap::new() }
    }

    /// Looks at all members, `step` after the last look.
    pub(super) fn observe(&mut self, step: Span, members: &[ClusterMember]) {
        let seen = members.iter().map(|member| {
            let silence = match self.seen.get(&member.fence) {
                Some(seen) if seen.heartbeat == member.heartbeat => seen.silence + step,
                _ => Span::ZERO,
            };
            (member.fence, LastHeartbeat { heartbeat: member.heartbeat, silence })
        });
        self.seen = seen.collect();
    }

    /// For how long a member has been silent.
    pub(super) fn silence(&self, member: Fence) -> Span {
        self.seen.get(&member).map_or(Span::ZERO, |seen| seen.silence)
    }
}

/// Shards that were free at a look, and have stayed so.
#[derive(Debug)]
pub(super) struct Unassigned {
    shards: Shards,
    lasts: Span,
}

impl Unassigned {
    pub(super) const fn new() -> Self {
        Self { shards: Shards::NONE, lasts: Span::ZERO }
    }

    /// Whether some of the shards that are free now have been free for `bound`; `step` is the time
    /// since the last observation. Then the members that should acquire them have not, and any
    /// member should.
    pub(super) fn is_overdue(&mut self, step: Span, free: Shards, bound: Span) -> bool {
        let still = self.shards.common(free);
        if still.is_empty() {
            (self.shards, self.lasts) = (free, Span::ZERO);
            return false;
        }
        (self.shards, self.lasts) = (still, self.lasts + step);
        self.lasts >= bound
    }
}

/// The fencing token of a run: every opening of a store for work takes the next number, and writes
/// with an earlier one are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub u64);

/// The state of all members, as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// All members.
    pub members: Vec<ClusterMember>,
    /// Shards without a leader.
    pub free: Shards,
    /// The number of the last change of settings.
    pub settings_version: u64,
    /// Open deliveries of all shards.
    pub open: u64,
}

/// A member, and its shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMember {
    /// Its membership.
    pub fence: Fence,
    /// Its node, for people.
    pub node: NodeIdentity,
    /// The number of its heartbeats.
    pub heartbeat: u64,
    /// Whether it is leaving, and wants no more shards.
    pub leaving: bool,
    /// The shards that it leads.
    pub shards: Shards,
}

/// A node as people know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeIdentity {
    /// The address on which it listens.
    pub address: String,
    /// The version of its release; none of a release that does not tell it.
    pub version: Option<String>,
    /// The time at which it was started, by its own clock.
    pub started_at: Option<Instant>,
}

impl From<&str> for NodeIdentity {
    /// A node of which only the address is known.
    fn from(address: &str) -> Self {
        Self { address: address.to_owned(), ..Self::default() }
    }
}

/// Heartbeats in a lease: enough that losing one or two does no harm.
const HEARTBEATS_PER_LEASE: u64 = 10;

/// A member's heartbeat counter may stand still for half a lease. The other half is for detecting
/// that, for the eviction, and for acquiring its shards.
const FAILURE_TIMEOUT_SHARE: u64 = 2;

/// The holder's span is a tenth shorter than the others' patience: clocks may differ in rate by that much.
const MARGIN: u64 = 10;

/// Missed heartbeats from which on no shard is released for a member: it may be dead.
const DOUBTED: u64 = 3;

/// The most time that one observation counts for, in heartbeat intervals. If more has passed, the
/// store did not answer or this node was stopped, and the other nodes may be alive.
const MOST_A_LOOK: u64 = 2;

/// One node's view of all members, from the time of its joining.
///
/// ```
/// use stagger_core::{Instant, Span};
/// use stagger_scheduler::leadership::{Membership, Actions};
/// use stagger_scheduler::leadership::{Fence, ClusterMember, ClusterView, Shards};
/// let mut membership = Membership::new(Span::from_secs(10));
/// let node = "10.0.0.7:8080".into();
/// let own = ClusterMember { fence: Fence(1), node, heartbeat: 1, leaving: false, shards: Shards::NONE };
/// let view = ClusterView { members: vec![own], free: Shards::ALL, ..ClusterView::default() };
/// let actions = membership.on_cluster_view(Instant::ORIGIN, Fence(1), &view);
/// assert_eq!(actions, Actions { acquire: 256, ..Actions::default() });
/// ```
#[derive(Debug)]
pub struct Membership {
    lease: Span,
    last: Option<Instant>,
    failure_detector: FailureDetector,
    unassigned: Unassigned,
}

/// The actions that a member takes, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// The members to evict, each only if its heartbeat counter still has this value.
    pub evict: Vec<(Fence, u64)>,
    /// The number of its shards to release.
    pub release: usize,
    /// The most shards to acquire, of those that are free once the others are evicted.
    pub acquire: usize,
}

impl Membership {
    /// Knows no members yet. A dead leader is replaced within `lease`, which is the same for all
    /// nodes and has time for fifty calls of the store.
    #[must_use]
    pub const fn new(lease: Span) -> Self {
        Self {
            lease,
            last: None,
            failure_detector: FailureDetector::new(),
            unassigned: Unassigned::new(),
        }
    }

    /// The interval between heartbeats: a tenth of the lease.
    #[must_use]
    pub const fn heartbeat_interval(&self) -> Span {
        Span::from_nanos(self.lease.as_nanos() / HEARTBEATS_PER_LEASE)
    }

    /// The time for which a node may act on its shards after it has sent a heartbeat that was
    /// answered, by its own monotonic clock: nine twentieths of the lease.
    #[must_use]
    pub const fn lease_validity(&self) -> Span {
        let failure_timeout = self.failure_timeout().as_nanos();
        Span::from_nanos(failure_timeout - failure_timeout.div_ceil(MARGIN))
    }

    /// The time for which a heartbeat counter may stand still before its member is evicted: half
    /// the lease.
    #[must_use]
    pub const fn failure_timeout(&self) -> Span {
        Span::from_nanos(self.lease.as_nanos() / FAILURE_TIMEOUT_SHARE)
    }

    /// Decides the next actions from the answer to a heartbeat. `now` is read after the answer.
    ///
    /// One that is leaving gives up all and takes nothing; one that is no member does nothing.
    pub fn on_cluster_view(
        &mut self,
        now: Instant,
        own: Fence,
        cluster_view: &ClusterView,
    ) -> Actions {
        let step = self.observe(now, cluster_view);
        let Some(me) = cluster_view.members.iter().find(|member| member.fence == own) else {
            return Actions::default();
        };
        let is_dead = |member: &&ClusterMember| {
            member.fence != own
                && self.failure_detector.silence(member.fence) >= self.failure_timeout()
        };
        let dead: Vec<&ClusterMember> = cluster_view.members.iter().filter(is_dead).collect();
        let evict: Vec<_> = dead.iter().map(|member| (member.fence, member.heartbeat)).collect();
        let free = dead.iter().fold(cluster_view.free, |free, member| free.union(member.shards));
        let is_overdue = self.unassigned.is_overdue(step, free, self.heartbeat_interval());
        if me.leaving {
            return Actions { evict, release: me.shards.len(), acquire: 0 };
        }
        let wanted = self.wanted(own, cluster_view, &dead).saturating_sub(free.len());
        let share = share_of(own, &living(cluster_view, &dead));
        let (has, free) = (me.shards.len(), free.len());
        if is_overdue {
            return Actions { evict, release: 0, acquire: free };
        }
        let (release, acquire) = (has.saturating_sub(share).min(wanted), share.saturating_sub(has));
        Actions { evict, release, acquire: acquire.min(free) }
    }

    /// Observes all members; returns the time that this observation counts for.
    fn observe(&mut self, now: Instant, cluster_view: &ClusterView) -> Span {
        let most = self.heartbeat_interval().saturating_mul(MOST_A_LOOK);
        let step = self.last.map_or(Span::ZERO, |last| now - last).min(most);
        self.last = Some(now);
        self.failure_detector.observe(step, &cluster_view.members);
        step
    }

    /// The number of shards that the others lack, without members that may be dead.
    fn wanted(&self, own: Fence, cluster_view: &ClusterView, dead: &[&ClusterMember]) -> usize {
        let doubted = self.heartbeat_interval().saturating_mul(DOUBTED);
        let living = living(cluster_view, dead);
        let others = cluster_view.members.iter().filter(|member| {
            member.fence != own
                && !member.leaving
                && self.failure_detector.silence(member.fence) < doubted
        });
        let lacks = |member: &ClusterMember| {
            share_of(member.fence, &living).saturating_sub(member.shards.len())
        };
        others.map(lacks).sum()
    }
}

/// The members that get a share. A member without a heartbeat may never send one: perhaps it did
/// not get the answer to its join.
fn living(cluster_view: &ClusterView, dead: &[&ClusterMember]) -> Vec<Fence> {
    let is_dead = |member: &ClusterMember| dead.iter().any(|one| one.fence == member.fence);
    let wants =
        |member: &&ClusterMember| member.heartbeat > 0 && !member.leaving && !is_dead(member);
    cluster_view.members.iter().filter(wants).map(|member| member.fence).collect()
}

/// The share of `member` among the living: even, and the remainder goes to the oldest, one each.
/// All shares together are all shards, so that nothing moves once each member has its own.
pub(super) fn share_of(member: Fence, living: &[Fence]) -> usize {
    if !living.contains(&member) {
        return 0;
    }
    let older = living.iter().filter(|other| **other < member).count();
    let (even, left_over) = (Shards::COUNT / living.len(), Shards::COUNT % living.len());
    even + usize::from(older < left_over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_shard_is_left_over_and_shares_differ_by_one_at_most() {
        for count in 1..=300 {
            let living: Vec<Fence> = (0..count).map(|n| Fence(n * 7)).collect();
            let shares: Vec<usize> = living.iter().map(|fence| share_of(*fence, &living)).collect();
            assert_eq!(shares.iter().sum::<usize>(), Shards::COUNT);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
        assert_eq!(share_of(Fence(1), &[Fence(2)]), 0);
    }
}

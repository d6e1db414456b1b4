//! The actions that a member takes after each heartbeat.

use stagger_core::{Instant, Span};

use super::cluster_view::{ClusterMember, ClusterView, Fence};
use super::failure_detector::{FailureDetector, Unassigned};
use super::share;

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
/// let name = "a".to_owned();
/// let own = ClusterMember { fence: Fence(1), name, heartbeat: 1, leaving: false, shards: Shards::NONE };
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
        let share = share::of(own, &living(cluster_view, &dead));
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
            share::of(member.fence, &living).saturating_sub(member.shards.len())
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

//! The nodes that work on the store, for people: their names, versions and shards.

use std::sync::{Mutex, PoisonError};

use stagger::Instant;
use stagger_store::{ClusterMember, ClusterView, Fence, NodeIdentity};

/// A node of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// The number of its membership: another one after each start.
    pub run: u64,
    /// The address on which it listens.
    pub name: String,
    /// The version of its release; none of a release that does not tell it.
    pub version: Option<String>,
    /// The time at which it was started, by its own clock.
    pub started_at: Option<Instant>,
    /// The time of its last heartbeat that this node has received.
    pub last_seen_at: Instant,
    /// The shards that it leads, of 256.
    pub shards: usize,
    /// Whether it is ending, and hands over its shards.
    pub draining: bool,
    /// Whether it is the node that answers.
    pub is_this: bool,
}

/// The members of the cluster, and when each was seen last by the clock of this node.
#[derive(Debug, Default)]
pub(in crate::node) struct SeenMembers {
    members: Mutex<Vec<(ClusterMember, Instant)>>,
}

impl SeenMembers {
    /// A member whose heartbeat counter stands still is as old as before.
    pub(super) fn update(&self, now: Instant, view: &ClusterView) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = |member: &ClusterMember| {
            let known = members.iter().find(|(known, _)| known.fence == member.fence);
            let same = known.filter(|(known, _)| known.heartbeat == member.heartbeat);
            (member.clone(), same.map_or(now, |(_, at)| *at))
        };
        *members = view.members.iter().map(seen).collect();
    }

    /// All members but that of this fence.
    pub(in crate::node) fn others(&self, own: Fence) -> Vec<NodeInfo> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let others = members.iter().filter(|(member, _)| member.fence != own);
        others.map(|(member, at)| NodeInfo::other(member, *at)).collect()
    }
}

impl NodeInfo {
    fn other(member: &ClusterMember, last_seen_at: Instant) -> Self {
        let NodeIdentity { address: name, version, started_at } = member.node.clone();
        let (run, shards, draining) = (member.fence.0, member.shards.len(), member.leaving);
        Self { run, name, version, started_at, last_seen_at, shards, draining, is_this: false }
    }
}

#[cfg(test)]
mod tests {
    use stagger::Span;
    use stagger_store::Shards;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(seconds)
    }

    #[test]
    fn a_member_is_seen_when_its_heartbeat_counter_moves() {
        let member = |fence, heartbeat| ClusterMember {
            fence: Fence(fence),
            node: NodeIdentity {
                address: format!("10.0.0.{fence}:80"),
                version: Some("0.4.0".to_owned()),
                started_at: Some(at(1)),
            },
            heartbeat,
            leaving: fence == 3,
            shards: Shards::ALL,
        };
        let seen = SeenMembers::default();
        let view = |members| ClusterView { members, ..ClusterView::default() };
        seen.update(at(1), &view(vec![member(1, 5), member(2, 1), member(4, 1)]));
        seen.update(at(2), &view(vec![member(1, 6), member(2, 1), member(3, 1)]));
        seen.update(at(3), &view(vec![member(1, 7), member(2, 1), member(3, 2)]));
        let others = seen.others(Fence(1));
        let shown: Vec<_> =
            others.iter().map(|it| (it.run, it.last_seen_at, it.draining)).collect();
        assert_eq!(shown, [(2, at(1), false), (3, at(3), true)]);
        assert_eq!((others[0].name.as_str(), others[0].started_at), ("10.0.0.2:80", Some(at(1))));
        assert_eq!(others[0].shards, 256);
    }
}

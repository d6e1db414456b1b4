//! The nodes that work on the store, for people: their names, versions and shards.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use stagger::Instant;
use stagger_store::{ClusterMember, ClusterView, Fence};
use stagger_text::Timestamp;

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

/// The name under which a node joins: its address, version and start. People read it in the database too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::node) struct NodeName {
    pub(in crate::node) address: String,
    pub(in crate::node) version: Option<String>,
    pub(in crate::node) started_at: Option<Instant>,
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)?;
        match (&self.version, self.started_at) {
            (Some(version), Some(at)) => write!(f, " {version} {}", Timestamp(at)),
            _ => Ok(()),
        }
    }
}

impl FromStr for NodeName {
    type Err = std::convert::Infallible;

    /// The name of a node of an earlier release is its address.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<_> = text.split(' ').collect();
        if let [address, version, at] = words[..]
            && let Ok(Timestamp(at)) = at.parse()
        {
            let (version, started_at) = (Some(version.to_owned()), Some(at));
            return Ok(Self { address: address.to_owned(), version, started_at });
        }
        Ok(Self { address: text.to_owned(), version: None, started_at: None })
    }
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
        let Ok(NodeName { address: name, version, started_at }) = member.name.parse();
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
    fn a_name_is_read_as_it_was_written() {
        let (version, started_at) = (Some("0.4.0".to_owned()), Some(at(1_700_000_000)));
        let name = NodeName { address: "10.0.0.7:8080".into(), version, started_at };
        assert_eq!(name.to_string().parse(), Ok(name));
        for earlier in ["10.0.0.7:8080", "unnamed", "a b c", ""] {
            let read: NodeName = earlier.parse().unwrap();
            assert_eq!((read.to_string(), read.version), (earlier.to_owned(), None));
        }
    }

    #[test]
    fn a_member_is_seen_when_its_heartbeat_counter_moves() {
        let member = |fence, heartbeat| ClusterMember {
            fence: Fence(fence),
            name: format!("10.0.0.{fence}:80 0.4.0 1970-01-01T00:00:01.000Z"),
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

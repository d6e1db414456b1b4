//! The members of a cluster as its store shows them: fences, heartbeat counters and shards.

use super::shard::Shards;

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
    /// Its name, for people.
    pub name: String,
    /// The number of its heartbeats.
    pub heartbeat: u64,
    /// Whether it is leaving, and wants no more shards.
    pub leaving: bool,
    /// The shards that it leads.
    pub shards: Shards,
}

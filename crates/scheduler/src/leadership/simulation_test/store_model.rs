//! The store's side: members, and who leads what. Every call is one transaction.

use std::collections::BTreeMap;

use crate::leadership::{ClusterMember, ClusterView, Fence, ShardId, Shards};

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
        let (name, shards) = (String::new(), Shards::NONE);
        self.members
            .insert(fence, ClusterMember { fence, name, heartbeat: 0, leaving: false, shards });
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

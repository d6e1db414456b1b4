//! Judgements over time: which members have failed, and for how long shards have been free.

use std::collections::BTreeMap;

use stagger_core::Span;

use super::cluster_view::{ClusterMember, Fence};
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

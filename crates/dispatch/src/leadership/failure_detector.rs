//! The time for which each member's heartbeat counter has stood still.

use std::collections::BTreeMap;

use stagger::Span;

use crate::store::{Fence, Member};

/// The heartbeat counter of each member, and the time for which it has stood still.
#[derive(Debug)]
pub(super) struct FailureDetector {
    seen: BTreeMap<Fence, Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    heartbeat: u64,
    silence: Span,
}

impl FailureDetector {
    pub(super) const fn new() -> Self {
        Self { seen: BTreeMap::new() }
    }

    /// Looks at all members, `step` after the last look.
    pub(super) fn observe(&mut self, step: Span, members: &[Member]) {
        let seen = members.iter().map(|member| {
            let silence = match self.seen.get(&member.fence) {
                Some(seen) if seen.heartbeat == member.heartbeat => seen.silence + step,
                _ => Span::ZERO,
            };
            (member.fence, Seen { heartbeat: member.heartbeat, silence })
        });
        self.seen = seen.collect();
    }

    /// For how long a member has been silent.
    pub(super) fn silence(&self, member: Fence) -> Span {
        self.seen.get(&member).map_or(Span::ZERO, |seen| seen.silence)
    }
}

//! Who works on the store in memory, and who leads what.

use std::collections::BTreeMap;

use crate::Error;
use crate::store::{Fence, Member, Roll, Shards};

/// The memberships that have not ended, and the run that has the store alone, if one has.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The last fence that was given to anybody.
    given: u64,
    alone: Option<Fence>,
    rows: BTreeMap<Fence, Row>,
}

#[derive(Debug)]
struct Row {
    member: Member,
    /// Up to where it has followed the settings.
    followed: u64,
}

impl Members {
    pub(super) fn begin_run(&mut self) -> Fence {
        let fence = self.next();
        self.rows.clear();
        self.alone = Some(fence);
        fence
    }

    pub(super) fn join(&mut self, name: &str) -> Fence {
        let fence = self.next();
        self.alone = None;
        let member =
            Member { fence, name: name.to_owned(), beat: 0, leaving: false, shards: Shards::NONE };
        self.rows.insert(fence, Row { member, followed: 0 });
        fence
    }

    pub(super) fn beat(&mut self, fence: Fence, followed: u64, leaving: bool) -> Result<(), Error> {
        let row = self.row(fence)?;
        row.member.beat += 1;
        row.member.leaving = leaving;
        row.followed = followed;
        Ok(())
    }

    pub(super) fn evict(&mut self, fence: Fence, beat: u64) -> bool {
        let silent = self.rows.get(&fence).is_some_and(|row| row.member.beat == beat);
        silent && self.leave(fence)
    }

    pub(super) fn leave(&mut self, fence: Fence) -> bool {
        self.rows.remove(&fence).is_some()
    }

    pub(super) fn take(&mut self, fence: Fence, most: usize) -> Result<Shards, Error> {
        let taken: Shards = self.free().iter().take(most).collect();
        let led = &mut self.row(fence)?.member.shards;
        *led = led.union(taken);
        Ok(taken)
    }

    pub(super) fn give_up(&mut self, fence: Fence, shards: Shards) {
        if let Some(row) = self.rows.get_mut(&fence) {
            row.member.shards = row.member.shards.without(shards);
        }
    }

    /// Whether it may write: a member, or the run that has the store alone.
    pub(super) fn is_valid(&self, fence: Fence) -> bool {
        self.alone == Some(fence) || self.is_member(fence)
    }

    pub(super) fn is_member(&self, fence: Fence) -> bool {
        self.rows.contains_key(&fence)
    }

    /// Up to where all members have followed the settings; `None` if there are none.
    pub(super) fn followed(&self) -> Option<u64> {
        self.rows.values().map(|row| row.followed).min()
    }

    pub(super) fn roll(&self, news: u64, open: usize) -> Roll {
        let members = self.rows.values().map(|row| row.member.clone()).collect();
        // OK because a `usize` has at most 64 bits.
        Roll { members, free: self.free(), news, open: open as u64 }
    }

    fn free(&self) -> Shards {
        self.rows.values().fold(Shards::ALL, |free, row| free.without(row.member.shards))
    }

    fn row(&mut self, fence: Fence) -> Result<&mut Row, Error> {
        let ended = || Error::conflict(format!("membership {} has ended", fence.0));
        self.rows.get_mut(&fence).ok_or_else(ended)
    }

    const fn next(&mut self) -> Fence {
        self.given += 1;
        Fence(self.given)
    }
}

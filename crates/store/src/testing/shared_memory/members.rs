//! Members, their shards, and the notifications between them, in the memory store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::calls::run_ended;
use crate::{ClusterMember, ClusterView, Error, Fence, NodeIdentity, Notification, Shards};

/// The memberships that have not ended, and the run that has the store alone, if one has.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The last fence that was issued.
    given: u64,
    alone: Option<Fence>,
    rows: BTreeMap<Fence, ClusterMember>,
}

impl Members {
    pub(super) fn begin_run(&mut self) -> Fence {
        let fence = self.next();
        self.rows.clear();
        self.alone = Some(fence);
        fence
    }

    pub(super) fn join(&mut self, node: &NodeIdentity) -> Fence {
        let fence = self.next();
        self.alone = None;
        let member = ClusterMember {
            fence,
            node: node.clone(),
            heartbeat: 0,
            leaving: false,
            shards: Shards::NONE,
        };
        self.rows.insert(fence, member);
        fence
    }

    pub(super) fn heartbeat(&mut self, fence: Fence, leaving: bool) -> Result<(), Error> {
        let member = self.member(fence)?;
        member.heartbeat += 1;
        member.leaving = leaving;
        Ok(())
    }

    pub(super) fn evict(&mut self, fence: Fence, heartbeat: u64) -> bool {
        let silent = self.rows.get(&fence).is_some_and(|member| member.heartbeat == heartbeat);
        silent && self.leave(fence)
    }

    pub(super) fn leave(&mut self, fence: Fence) -> bool {
        self.rows.remove(&fence).is_some()
    }

    pub(super) fn acquire(&mut self, fence: Fence, most: usize) -> Result<Shards, Error> {
        let taken: Shards = self.free().iter().take(most).collect();
        let led = &mut self.member(fence)?.shards;
        *led = led.union(taken);
        Ok(taken)
    }

    pub(super) fn release(&mut self, fence: Fence, shards: Shards) {
        if let Some(member) = self.rows.get_mut(&fence) {
            member.shards = member.shards.without(shards);
        }
    }

    /// Whether it may write: a member, or the run that has the store alone.
    pub(super) fn is_valid(&self, fence: Fence) -> bool {
        self.alone == Some(fence) || self.is_member(fence)
    }

    pub(super) fn is_member(&self, fence: Fence) -> bool {
        self.rows.contains_key(&fence)
    }

    /// The shards without a leader besides these.
    pub(super) fn left_to(&self, these: &BTreeSet<Fence>) -> Shards {
        let others = self.rows.values().filter(|member| !these.contains(&member.fence));
        others.fold(Shards::ALL, |left, member| left.without(member.shards))
    }

    pub(super) fn cluster_view(&self, settings_version: u64, open: usize) -> ClusterView {
        let members = self.rows.values().cloned().collect();
        // OK because a `usize` has at most 64 bits.
        ClusterView { members, free: self.free(), settings_version, open: open as u64 }
    }

    fn free(&self) -> Shards {
        self.left_to(&BTreeSet::new())
    }

    fn member(&mut self, fence: Fence) -> Result<&mut ClusterMember, Error> {
        self.rows.get_mut(&fence).ok_or_else(|| run_ended(fence))
    }

    const fn next(&mut self) -> Fence {
        self.given += 1;
        Fence(self.given)
    }
}

/// The members' ends of the notifications.
#[derive(Debug, Default)]
pub(super) struct Notifications(Mutex<Vec<mpsc::UnboundedSender<Notification>>>);

impl Notifications {
    pub(super) fn listen(&self) -> mpsc::UnboundedReceiver<Notification> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// Notifies all members, and forgets those that have gone.
    pub(super) fn tell(&self, notification: Notification) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(notification).is_ok());
    }
}

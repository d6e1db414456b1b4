//! The counts of a process in one phase.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Counts since the last phase ended.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Count {
    /// First attempts with the shared budget; as many were made with the local one.
    pub(super) firsts: u64,
    pub(super) retries_shared: u64,
    pub(super) retries_local: u64,
    /// Leased permits that are left.
    pub(super) held: u64,
    /// Processes that take the store for away.
    pub(super) away: u64,
    /// The longest that anything took which was asked of the ledger, in microseconds.
    pub(super) shared_us: u64,
    pub(super) local_us: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.firsts += other.firsts;
        self.retries_shared += other.retries_shared;
        self.retries_local += other.retries_local;
        self.held += other.held;
        self.away += other.away;
        self.shared_us = self.shared_us.max(other.shared_us);
        self.local_us = self.local_us.max(other.local_us);
    }
}

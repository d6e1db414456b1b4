//! The balance of a run.

use std::fmt;

use serde::Serialize;

/// Counts are of deliveries, one for each message and endpoint.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) rounds: u32,
    /// Promised by a 202 that was read.
    pub(super) accepted: usize,
    /// Of these: answered with a 2xx.
    pub(super) delivered: usize,
    /// Of these: in the list of dead letters.
    pub(super) dead: usize,
    /// Of these: neither.
    pub(super) lost: usize,
    /// Came again after a 2xx.
    pub(super) duplicates: usize,
    /// Came, or was accepted again, under another id.
    pub(super) duplicates_with_new_id: usize,
}

impl Report {
    /// Whether nothing was lost, and receivers can tell every duplicate.
    pub(super) fn is_good(&self) -> bool {
        self.lost == 0 && self.duplicates_with_new_id == 0 && self.accepted > 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, accepted, delivered, dead, lost, .. } = self;
        writeln!(f, "{rounds} kills under load")?;
        writeln!(f, "{accepted:>10} deliveries promised")?;
        writeln!(f, "{delivered:>10} delivered")?;
        writeln!(f, "{dead:>10} dead, as the receiver asked for")?;
        writeln!(f, "{lost:>10} lost")?;
        writeln!(f, "{:>10} duplicates with the same id", self.duplicates)?;
        writeln!(f, "{:>10} under another id", self.duplicates_with_new_id)
    }
}

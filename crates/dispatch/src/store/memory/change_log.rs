//! The order of setting changes, in the memory store.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ApplicationId, EndpointId};

/// Changes that are kept: a node that has missed more reads all settings anew, which is hardly
/// slower then.
const MOST: usize = 4096;

/// The latest changes, by their numbers.
#[derive(Debug, Default)]
pub(super) struct RecentChanges {
    last: u64,
    /// No change up to this one is known.
    forgotten: u64,
    changes: BTreeMap<u64, Changed>,
}

/// A changed setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Changed {
    Application(ApplicationId),
    Endpoint(EndpointId),
}

impl RecentChanges {
    pub(super) fn add(&mut self, changed: Changed) {
        self.last += 1;
        self.changes.insert(self.last, changed);
        while self.changes.len() > MOST
            && let Some((number, _)) = self.changes.pop_first()
        {
            self.forgotten = number;
        }
    }

    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// The changes after `after`, in the order of the first change of each: so no endpoint comes
    /// before its application. `None`, too, if `after` is newer than the last change, as in a
    /// restored store.
    pub(super) fn since(&self, after: u64) -> Option<Vec<Changed>> {
        let mut seen = BTreeSet::new();
        let later = self.changes.range(after.saturating_add(1)..).map(|(_, changed)| *changed);
        let is_known = (self.forgotten..=self.last).contains(&after);
        is_known.then(|| later.filter(|changed| seen.insert(*changed)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::fixture::ep;

    #[test]
    fn more_changes_than_are_kept_push_out_the_oldest() {
        let mut change_log = RecentChanges::default();
        (0..=MOST).for_each(|_| change_log.add(Changed::Endpoint(ep(1))));
        assert_eq!((change_log.changes.len(), change_log.since(0)), (MOST, None));
        assert_eq!(change_log.since(1), Some(vec![Changed::Endpoint(ep(1))]));
    }
}

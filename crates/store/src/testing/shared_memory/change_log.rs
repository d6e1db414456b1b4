//! The news that nodes give each other through the memory store: changed settings, arrivals, commands.

use std::collections::{BTreeMap, BTreeSet};

use stagger_scheduler::model::{ApplicationId, Delivery, DeliveryId, EndpointId};

use crate::{DocumentKey, EndpointCommand, ShardId, Shards};

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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Changed {
    Application(ApplicationId),
    Endpoint(EndpointId),
    Document(DocumentKey),
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
        let later =
            self.changes.range(after.saturating_add(1)..).map(|(_, changed)| changed.clone());
        let is_known = (self.forgotten..=self.last).contains(&after);
        is_known.then(|| later.filter(|changed| seen.insert(changed.clone())).collect())
    }
}

/// The arrivals that are not done.
#[derive(Debug, Default)]
pub(super) struct ArrivalTable {
    given: u64,
    rows: BTreeMap<u64, (ShardId, DeliveryId)>,
}

impl ArrivalTable {
    pub(super) fn add(&mut self, delivery: &Delivery) {
        self.given += 1;
        let (shard, name) = (ShardId::of(delivery.endpoint), (delivery.message, delivery.endpoint));
        self.rows.insert(self.given, (shard, name));
    }

    pub(super) fn forget(&mut self, number: u64, of: Shards) {
        if self.rows.get(&number).is_some_and(|(shard, _)| of.contains(*shard)) {
            self.rows.remove(&number);
        }
    }

    /// Removes the arrivals of deliveries that are gone.
    pub(super) fn keep(&mut self, is_there: impl Fn(DeliveryId) -> bool) {
        self.rows.retain(|_, (_, name)| is_there(*name));
    }

    pub(super) fn of(&self, shards: Shards) -> impl Iterator<Item = (u64, DeliveryId)> {
        let rows = self.rows.iter().filter(move |(_, (shard, _))| shards.contains(*shard));
        rows.map(|(number, (_, name))| (*number, *name))
    }
}

/// The open commands; those of deleted endpoints are removed with them.
#[derive(Debug, Default)]
pub(super) struct Commands {
    given: u64,
    rows: BTreeMap<u64, (EndpointId, EndpointCommand)>,
}

impl Commands {
    pub(super) fn add(&mut self, endpoint: EndpointId, command: EndpointCommand) -> u64 {
        self.given += 1;
        self.rows.insert(self.given, (endpoint, command));
        self.given
    }

    pub(super) fn of(&self, shards: Shards) -> Vec<(u64, EndpointId, EndpointCommand)> {
        let wanted = |(_, (to, _)): &(&u64, &(EndpointId, EndpointCommand))| {
            shards.contains(ShardId::of(*to))
        };
        let found = self.rows.iter().filter(wanted);
        found.map(|(number, (endpoint, command))| (*number, *endpoint, *command)).collect()
    }

    pub(super) fn complete_commands(&mut self, commands: &[u64]) {
        commands.iter().for_each(|number| {
            self.rows.remove(number);
        });
    }

    pub(super) fn is_command_done(&self, command: u64) -> bool {
        !self.rows.contains_key(&command)
    }

    pub(super) fn keep(&mut self, is_there: impl Fn(EndpointId) -> bool) {
        self.rows.retain(|_, (endpoint, _)| is_there(*endpoint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture::ep;

    #[test]
    fn more_changes_than_are_kept_push_out_the_oldest() {
        let mut change_log = RecentChanges::default();
        (0..=MOST).for_each(|_| change_log.add(Changed::Endpoint(ep(1))));
        assert_eq!((change_log.changes.len(), change_log.since(0)), (MOST, None));
        assert_eq!(change_log.since(1), Some(vec![Changed::Endpoint(ep(1))]));
    }
}

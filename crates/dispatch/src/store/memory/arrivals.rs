//! Deliveries for other leaders, in the memory store.

use std::collections::BTreeMap;

use crate::model::{Delivery, DeliveryId, MessageId};
use crate::store::{ShardId, Shards};

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

    /// Removes the arrivals of a message that is being deleted.
    pub(super) fn forget_message(&mut self, id: MessageId) {
        self.rows.retain(|_, (_, (message, _))| *message != id);
    }

    pub(super) fn of(&self, shards: Shards) -> impl Iterator<Item = (u64, DeliveryId)> {
        let rows = self.rows.iter().filter(move |(_, (shard, _))| shards.contains(*shard));
        rows.map(|(number, (_, name))| (*number, *name))
    }
}

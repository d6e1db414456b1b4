//! Deliveries for other leaders, in the memory store.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::Tables;
use crate::model::{Delivery, EndpointId, MessageId};
use crate::store::{Arrival, Fence, Shard, Shards};

/// Payloads up to this many bytes come with the arrival: a leader has to read larger ones by themselves.
const SMALL: usize = 8 * 1024;

/// The arrivals that are not done.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    given: u64,
    rows: BTreeMap<u64, (Shard, Name)>,
}

type Name = (MessageId, EndpointId);

impl Arrivals {
    pub(super) fn add(&mut self, delivery: &Delivery) {
        self.given += 1;
        let (shard, name) = (Shard::of(delivery.endpoint), (delivery.message, delivery.endpoint));
        self.rows.insert(self.given, (shard, name));
    }

    fn forget(&mut self, number: u64, of: Shards) {
        if self.rows.get(&number).is_some_and(|(shard, _)| of.contains(*shard)) {
            self.rows.remove(&number);
        }
    }

    /// Removes the arrivals of a message that is being deleted.
    pub(super) fn forget_message(&mut self, id: MessageId) {
        self.rows.retain(|_, (_, (message, _))| *message != id);
    }

    fn of(&self, shards: Shards) -> impl Iterator<Item = (u64, Name)> {
        let rows = self.rows.iter().filter(move |(_, (shard, _))| shards.contains(*shard));
        rows.map(|(number, (_, name))| (*number, *name))
    }
}

impl Tables {
    /// Deletes the finished arrivals of a node with these memberships and returns others, except
    /// those of shards that another member leads: an evicted node that has not noticed would
    /// otherwise take arrivals that the next leader has not seen.
    pub(super) fn arrivals(
        &mut self,
        node: &BTreeSet<Fence>,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Vec<Arrival> {
        let left = self.members.left_to(node);
        done.iter().for_each(|number| self.arrivals.forget(*number, left));
        let found = self.arrivals.of(shards.common(left)).take(limit);
        found.map(|(number, name)| self.arrival(number, name)).collect()
    }

    /// The open deliveries of `shards`, oldest first, and the numbers of all their arrivals.
    pub(super) fn load(&self, shards: Shards) -> (Vec<Delivery>, Vec<u64>) {
        let wanted = |(_, to): &&Name| shards.contains(Shard::of(*to));
        let open = self.open.iter().filter(wanted).map(|name| self.deliveries[name]).collect();
        (open, self.arrivals.of(shards).map(|(number, _)| number).collect())
    }

    fn arrival(&self, number: u64, (message, endpoint): Name) -> Arrival {
        let delivery = self.delivery(message, endpoint).filter(|it| it.state.is_open());
        let content = delivery.and_then(|_| self.messages.get(&message).cloned());
        let content = content.filter(|(_, payload)| payload.len() <= SMALL);
        Arrival { number, delivery, content }
    }
}

//! What leaders are asked to do, in the store in memory.

use std::collections::BTreeMap;

use super::tables::Tables;
use crate::Error;
use crate::model::EndpointId;
use crate::store::{Order, Shard, Shards};

/// The orders that were not carried out; those of endpoints that are gone go with them.
#[derive(Debug, Default)]
pub(super) struct Orders {
    given: u64,
    rows: BTreeMap<u64, (EndpointId, Order)>,
}

impl Orders {
    pub(super) fn of(&self, shards: Shards) -> Vec<(u64, EndpointId, Order)> {
        let wanted = |(_, (to, _)): &(&u64, &(EndpointId, Order))| shards.contains(Shard::of(*to));
        let found = self.rows.iter().filter(wanted);
        found.map(|(number, (endpoint, order))| (*number, *endpoint, *order)).collect()
    }

    pub(super) fn carried_out(&mut self, orders: &[u64]) {
        orders.iter().for_each(|number| {
            self.rows.remove(number);
        });
    }

    pub(super) fn is_carried_out(&self, order: u64) -> bool {
        !self.rows.contains_key(&order)
    }

    pub(super) fn keep(&mut self, is_there: impl Fn(EndpointId) -> bool) {
        self.rows.retain(|_, (endpoint, _)| is_there(*endpoint));
    }
}

impl Tables {
    pub(super) fn order(&mut self, endpoint: EndpointId, order: Order) -> Result<u64, Error> {
        if !self.endpoints.contains_key(&endpoint) {
            return Err(Error::not_found("endpoint"));
        }
        self.orders.given += 1;
        self.orders.rows.insert(self.orders.given, (endpoint, order));
        Ok(self.orders.given)
    }
}

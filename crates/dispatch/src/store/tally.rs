//! The number of deliveries by endpoint and state, updated with each change, so that no query has
//! to count rows.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::model::{DeliveryState, EndpointId};

/// The number of states to count.
pub(super) const STATES: usize = DeliveryState::ALL.len();
/// Under this id all deliveries are counted.
pub(super) const ALL: EndpointId = EndpointId::from_uuid(Uuid::nil());

/// By how much a transaction has changed the counts.
#[derive(Debug, Default)]
pub(super) struct CountChanges {
    changes: BTreeMap<EndpointId, [i64; STATES]>,
}

impl CountChanges {
    /// A delivery to `endpoint` is in `state` now.
    pub(super) fn add(&mut self, endpoint: EndpointId, state: DeliveryState) {
        self.change(endpoint, state, 1);
    }

    /// A delivery to `endpoint` is not in `state` any more.
    pub(super) fn remove(&mut self, endpoint: EndpointId, state: DeliveryState) {
        self.change(endpoint, state, -1);
    }

    /// The changes, first in all, then by endpoint; unchanged numbers are left out.
    pub(super) fn take(&mut self) -> Vec<(EndpointId, [i64; STATES])> {
        let changes = std::mem::take(&mut self.changes);
        let mut all = [0; STATES];
        for by in changes.values() {
            all.iter_mut().zip(by).for_each(|(all, by)| *all += by);
        }
        let changed = |(_, by): &(EndpointId, [i64; STATES])| *by != [0; STATES];
        std::iter::once((ALL, all)).chain(changes).filter(changed).collect()
    }

    fn change(&mut self, endpoint: EndpointId, state: DeliveryState, by: i64) {
        self.changes.entry(endpoint).or_default()[state as usize] += by;
    }
}

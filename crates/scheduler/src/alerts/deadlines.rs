//! Times at which endpoints are looked at, at most one for each.

use std::collections::{BTreeMap, BTreeSet};

use stagger_core::Instant;

use crate::model::EndpointId;

/// A set of endpoints, ordered by the time at which each is due.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    order: BTreeSet<(Instant, EndpointId)>,
    times: BTreeMap<EndpointId, Instant>,
}

impl Deadlines {
    pub(super) fn contains(&self, id: EndpointId) -> bool {
        self.times.contains_key(&id)
    }

    /// Sets the time of an endpoint, in place of an earlier one.
    pub(super) fn set(&mut self, id: EndpointId, at: Instant) {
        self.remove(id);
        self.times.insert(id, at);
        self.order.insert((at, id));
    }

    pub(super) fn remove(&mut self, id: EndpointId) {
        if let Some(at) = self.times.remove(&id) {
            self.order.remove(&(at, id));
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes out an endpoint that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<EndpointId> {
        let (_, id) = self.order.first().copied().filter(|(at, _)| *at <= now)?;
        self.remove(id);
        Some(id)
    }
}

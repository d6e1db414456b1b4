//! Deliveries that were given up: at most one event a second for each endpoint.

use std::collections::BTreeMap;

use stagger_core::{Instant, Span};

use super::Deadlines;
use crate::model::EndpointId;

/// The least time between two events of one endpoint.
const INTERVAL: Span = Span::from_secs(1);

/// Holds events of exhausted deliveries back: of those within a second of an event the last one is kept, with the
/// number of all.
#[derive(Clone, Debug)]
pub struct ExhaustedAlerts<T> {
    /// The end of each endpoint's second.
    ends: Deadlines,
    held: BTreeMap<EndpointId, (T, u64)>,
}

impl<T> Default for ExhaustedAlerts<T> {
    fn default() -> Self {
        Self { ends: Deadlines::default(), held: BTreeMap::new() }
    }
}

impl<T> ExhaustedAlerts<T> {
    /// Notes an exhausted delivery. Given back, it is to be told now; else it is held until the second is over.
    pub fn note(&mut self, now: Instant, id: EndpointId, delivery: T) -> Option<T> {
        if !self.ends.contains(id) {
            self.ends.set(id, now + INTERVAL);
            return Some(delivery);
        }
        let count = self.held.get(&id).map_or(0, |(_, count)| *count);
        self.held.insert(id, (delivery, count + 1));
        None
    }

    /// Forgets an endpoint that another node leads now, or that is gone.
    pub fn forget(&mut self, id: EndpointId) {
        self.ends.remove(id);
        self.held.remove(&id);
    }

    /// The time at which [`take_due`](Self::take_due) ends a second.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.ends.next()
    }

    /// Ends the seconds that are over, up to one with deliveries: its endpoint, the last of them, and their number.
    pub fn take_due(&mut self, now: Instant) -> Option<(EndpointId, T, u64)> {
        while let Some(id) = self.ends.take_due(now) {
            if let Some((last, count)) = self.held.remove(&id) {
                self.ends.set(id, now + INTERVAL);
                return Some((id, last, count));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(n: u128) -> EndpointId {
        EndpointId::from_uuid(Uuid::from_u128(n))
    }

    fn at(millis: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(millis)
    }

    #[test]
    fn a_thousand_deliveries_of_ten_seconds_are_eleven_events() {
        let mut alerts = ExhaustedAlerts::default();
        let (mut told, mut events) = (0, 0);
        for n in 0..1000 {
            let now = at(n * 10);
            while let Some((_, _, count)) = alerts.take_due(now) {
                (told, events) = (told + count, events + 1);
            }
            if alerts.note(now, id(1), n).is_some() {
                (told, events) = (told + 1, events + 1);
            }
        }
        let (_, last, count) = alerts.take_due(at(11_000)).expect("the rest is told in time");
        assert_eq!((last, told + count, events + 1), (999, 1000, 11));
        assert_eq!(alerts.take_due(at(12_000)), None);
        assert_eq!(alerts.next(), None, "nothing is kept of an endpoint that is quiet");
    }

    #[test]
    fn an_endpoint_holds_back_its_own_events_only() {
        let mut alerts = ExhaustedAlerts::default();
        assert_eq!(alerts.note(at(0), id(1), 1), Some(1));
        assert_eq!(alerts.note(at(1), id(1), 2), None);
        assert_eq!(alerts.note(at(2), id(2), 3), Some(3));
        alerts.forget(id(1));
        assert_eq!(alerts.note(at(3), id(1), 4), Some(4));
        assert_eq!(alerts.take_due(at(999)), None);
    }
}

//! Endpoints that fail, and that are well again.

use stagger_core::{Instant, Span};

use super::Deadlines;
use crate::model::{EndpointId, EndpointState};

/// The time after which an endpoint of few messages fails for the operator too: its breaker may never open.
const FAILING_AFTER: Span = Span::from_secs(5 * 60);
/// The time for which an endpoint must be well before the operator is told: a breaker that closes and opens again is
/// one trouble and not many.
const WELL_FOR: Span = Span::from_secs(60);

/// Decides when the operator is told that an endpoint fails or has recovered.
#[derive(Clone, Debug, Default)]
pub struct FailingAlerts {
    /// The time at which each endpoint that is well again will have been so for long enough.
    well_at: Deadlines,
}

impl FailingAlerts {
    /// Notes the state of an endpoint; whether the operator is to be told that it fails. If so, the state is to be
    /// stored with [`alerted_since`](EndpointState::alerted_since).
    pub fn note(&mut self, now: Instant, id: EndpointId, state: &EndpointState) -> bool {
        if state.alerted_since.is_none() || state.disabled.is_some() || state.open.is_some() {
            self.well_at.remove(id);
        } else if is_well(state) && !self.well_at.contains(id) {
            self.well_at.set(id, now + WELL_FOR);
        }
        state.alerted_since.is_none() && state.disabled.is_none() && fails(now, state)
    }

    /// Forgets an endpoint that another node leads now, or that is gone.
    pub fn forget(&mut self, id: EndpointId) {
        self.well_at.remove(id);
    }

    /// The time at which [`take_due`](Self::take_due) has something.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.well_at.next()
    }

    /// Takes an endpoint that was well for long enough, unless it fails at this moment: it has recovered if
    /// [`has_recovered`](Self::has_recovered) says so of its state.
    pub fn take_due(&mut self, now: Instant) -> Option<EndpointId> {
        self.well_at.take_due(now)
    }

    /// Whether an endpoint in this state has recovered, once it is due.
    #[must_use]
    pub fn has_recovered(state: &EndpointState) -> bool {
        state.alerted_since.is_some() && is_well(state)
    }
}

fn is_well(state: &EndpointState) -> bool {
    state.disabled.is_none() && state.open.is_none() && state.failing_since.is_none()
}

/// An endpoint that was just enabled has an open breaker too, so that it is probed: only a failure makes it failing.
fn fails(now: Instant, state: &EndpointState) -> bool {
    state.failing_since.is_some_and(|since| state.open.is_some() || now - since >= FAILING_AFTER)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::model::{Disabled, Opened};

    const ID: EndpointId = EndpointId::from_uuid(Uuid::from_u128(1));

    fn at(seconds: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(seconds)
    }

    fn failing(since: u64) -> EndpointState {
        EndpointState { failing_since: Some(at(since)), ..EndpointState::default() }
    }

    fn open(since: u64) -> EndpointState {
        let opened = Opened { until: at(since + 10), open_time: Span::from_secs(10) };
        EndpointState { open: Some(opened), ..failing(since) }
    }

    fn told(since: u64, state: EndpointState) -> EndpointState {
        EndpointState { alerted_since: Some(at(since)), ..state }
    }

    #[test]
    fn an_open_breaker_or_five_minutes_of_failures_are_told_once() {
        let mut alerts = FailingAlerts::default();
        assert!(!alerts.note(at(1), ID, &failing(1)));
        assert!(!alerts.note(at(300), ID, &failing(1)));
        assert!(alerts.note(at(301), ID, &failing(1)));
        assert!(alerts.note(at(3), ID, &open(1)));
        assert!(!alerts.note(at(4), ID, &told(3, open(1))));
        let disabled = EndpointState { disabled: Some(Disabled::Failing), ..open(1) };
        assert!(!alerts.note(at(900), ID, &disabled));
        let enabled = EndpointState { failing_since: None, ..open(1) };
        assert!(!alerts.note(at(5), ID, &enabled), "it was enabled, and no attempt has failed");
        assert_eq!(alerts.next(), None);
    }

    #[test]
    fn a_breaker_that_closes_for_moments_has_not_recovered() {
        let mut alerts = FailingAlerts::default();
        let well = told(3, EndpointState::default());
        for round in 0..10 {
            assert!(!alerts.note(at(20 * round), ID, &well));
            assert!(!alerts.note(at(20 * round + 15), ID, &told(3, open(1))));
            assert_eq!(alerts.next(), None);
        }
        alerts.note(at(200), ID, &well);
        alerts.note(at(230), ID, &told(3, failing(230)));
        alerts.note(at(231), ID, &well);
        assert_eq!((alerts.next(), alerts.take_due(at(259))), (Some(at(260)), None));
        assert_eq!((alerts.take_due(at(260)), alerts.take_due(at(260))), (Some(ID), None));
        assert!(FailingAlerts::has_recovered(&well));
        assert!(!FailingAlerts::has_recovered(&told(3, failing(1))));
        assert!(!FailingAlerts::has_recovered(&EndpointState::default()), "it was never told");
    }

    #[test]
    fn an_endpoint_that_fails_when_it_is_due_is_due_again_after_its_next_success() {
        let mut alerts = FailingAlerts::default();
        let well = told(3, EndpointState::default());
        alerts.note(at(0), ID, &well);
        alerts.note(at(59), ID, &told(3, failing(59)));
        assert_eq!(alerts.take_due(at(60)), Some(ID));
        alerts.note(at(70), ID, &well);
        assert_eq!(alerts.next(), Some(at(130)));
        alerts.forget(ID);
        assert_eq!(alerts.next(), None);
    }
}

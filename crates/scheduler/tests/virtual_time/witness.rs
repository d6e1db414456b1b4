//! Observes everything since the last start, and reports each broken promise.

use std::collections::{BTreeMap, BTreeSet};

use stagger_core::{Hint, Instant, LongHint, Span};
use stagger_scheduler::Launch;
use stagger_scheduler::model::{Endpoint, EndpointId, EndpointState, MessageId};

/// The burst of an endpoint with a cap, in seconds of traffic: a tenth.
const CAP_SLACK: Span = Span::from_millis(100);

/// The scheduler's inputs and answers.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// Open deliveries, and when each is due.
    pub(crate) open: BTreeMap<(EndpointId, MessageId), Instant>,
    pub(crate) in_flight: Vec<Launch>,
    pub(crate) endpoint_states: BTreeMap<EndpointId, EndpointState>,
    pub(crate) hint_ends: BTreeMap<EndpointId, Instant>,
    /// Launches under the present settings.
    pub(crate) launches: BTreeMap<EndpointId, Vec<Instant>>,
    /// Deliveries that are in flight, without those that were removed and added again.
    pub(crate) under_way: BTreeSet<(EndpointId, MessageId)>,
}

impl Witness {
    pub(crate) fn endpoint_state(&self, endpoint: EndpointId) -> EndpointState {
        self.endpoint_states.get(&endpoint).copied().unwrap_or_default()
    }

    pub(crate) fn take_out(&mut self, endpoint: EndpointId, message: MessageId) {
        self.open.remove(&(endpoint, message));
        self.under_way.remove(&(endpoint, message));
    }

    /// The delivery that is due first may be the probe of an endpoint that was enabled.
    pub(crate) fn first_may_go(&mut self, endpoint: EndpointId, now: Instant) {
        let waits = |name: &(EndpointId, MessageId), due: Instant| {
            name.0 == endpoint && due > now && !self.under_way.contains(name)
        };
        let theirs = self.open.iter().filter(|(name, due)| waits(name, **due));
        let Some(first) = theirs.map(|(_, due)| *due).min() else { return };
        let of_endpoint = self.open.iter_mut().filter(|(name, _)| name.0 == endpoint);
        of_endpoint.filter(|(_, due)| **due == first).for_each(|(_, due)| *due = now);
    }

    /// Restarts the count of the rate after a change of settings.
    pub(crate) fn forget_rate(&mut self, endpoint: EndpointId) {
        self.launches.remove(&endpoint);
    }

    /// An attempt is back. Whether its delivery still waits for it.
    pub(crate) fn returned(&mut self, launch: &Launch) -> bool {
        let place = self.in_flight.iter().position(|other| other == launch);
        self.in_flight.swap_remove(place.expect("it was launched"));
        let name = (launch.endpoint, launch.message);
        let twins = |other: &&Launch| (other.endpoint, other.message) == name;
        // Of two flights of one delivery, taken out and put in again, the later is the living one.
        let alive = !self.in_flight.iter().filter(twins).any(|twin| twin.at >= launch.at);
        alive && self.under_way.contains(&name)
    }

    pub(crate) fn settled(&mut self, launch: &Launch, due: Option<Instant>) {
        let name = (launch.endpoint, launch.message);
        self.under_way.remove(&name);
        match due {
            Some(due) => _ = self.open.insert(name, due),
            None => _ = self.open.remove(&name),
        }
    }

    /// An attempt is launched: everything that must hold then.
    pub(crate) fn launched(&mut self, launch: Launch, endpoint: &Endpoint) {
        let (id, now) = (launch.endpoint, launch.at);
        let name = (id, launch.message);
        let due = *self.open.get(&name).expect("only what is open is attempted");
        assert!(due <= now, "not before its own time");
        assert!(self.under_way.insert(name), "not twice at once");
        assert!(self.hint_ends.get(&id).is_none_or(|end| *end <= now), "not before a hint's end");
        let endpoint_state = self.endpoint_state(id);
        assert_eq!(endpoint_state.disabled, None, "not while disabled");
        assert!(endpoint_state.paused_until.is_none_or(|until| until <= now));
        let probes = self.in_flight.iter().filter(|other| other.endpoint == id && other.probe);
        match endpoint_state.open {
            Some(opened) => {
                assert!(launch.probe && opened.until <= now, "an open breaker admits probes only");
                let probes = probes.count();
                let most = endpoint.policy.breaker().map_or(1, |plan| plan.probes());
                assert!(probes < most as usize, "exactly the plan's probes");
            }
            None => assert!(!launch.probe),
        }
        if endpoint.ordered {
            let mut theirs = self.open.range((id, MessageId::from_uuid(uuid::Uuid::nil()))..);
            assert_eq!(theirs.next().map(|(name, _)| name.1), Some(launch.message), "in order");
        }
        self.in_flight.push(launch);
        let at_once = self.in_flight.iter().filter(|other| other.endpoint == id).count();
        let most = if endpoint.ordered { 1 } else { endpoint.pace.concurrency.get() as usize };
        assert!(at_once <= most, "{at_once} of {most} at once");
        self.check_rate(id, now, endpoint);
    }

    fn check_rate(&mut self, id: EndpointId, now: Instant, endpoint: &Endpoint) {
        let launches = self.launches.entry(id).or_default();
        launches.push(now);
        let Some(rate) = endpoint.pace.rate else { return };
        for (count, since) in launches.iter().rev().take(300).enumerate() {
            let window = (now - *since).as_nanos() + CAP_SLACK.as_nanos();
            let most = u128::from(window) * u128::from(rate.get()) / 1_000_000_000;
            assert!(count as u128 <= most, "{count} after the first in {window} ns at {rate}/s");
        }
    }
}

/// The time for which all of an endpoint's deliveries wait under a hint, by the rules of its
/// policy.
pub(crate) fn obeyed(endpoint: &Endpoint, hint: Option<Hint>) -> Option<Span> {
    let span = hint.and_then(Hint::span)?;
    let rule = endpoint.policy.hints();
    Some(match rule.long() {
        LongHint::OwnDelayPlus(more) => span.min(more),
        _ => span.min(rule.max()),
    })
}

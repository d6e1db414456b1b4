//! The contents of a store: all that is left after a crash.

use std::collections::BTreeMap;

use stagger_core::Instant;
use stagger_scheduler::QueueChange;
use stagger_scheduler::model::{Delivery, DeliveryState, EndpointId, EndpointState, MessageId};

type Name = (MessageId, EndpointId);

/// Something on its way into the store.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    pub(crate) change: QueueChange,
    /// The end of a hint that came with it, for the checks.
    pub(crate) hint_end: Option<(EndpointId, Instant)>,
}

#[derive(Debug, Default)]
pub(crate) struct Durable {
    pub(crate) deliveries: BTreeMap<Name, Delivery>,
    pub(crate) endpoint_states: BTreeMap<EndpointId, EndpointState>,
    pub(crate) hint_ends: BTreeMap<EndpointId, Instant>,
    /// For each delivery, the round of each of its attempts.
    rounds: BTreeMap<Name, Vec<u32>>,
}

impl Durable {
    pub(crate) fn accept(&mut self, delivery: Delivery) {
        self.deliveries.insert((delivery.message, delivery.endpoint), delivery);
    }

    /// Applies a write; `most` are the attempts that a round may have.
    pub(crate) fn apply(&mut self, write: PendingWrite, most: u32) {
        let QueueChange { delivery, attempt, endpoint_state } = write.change;
        if let Some(delivery) = delivery {
            let name = (delivery.message, delivery.endpoint);
            let before = self.deliveries.insert(name, delivery).expect("accepted before");
            assert!(before.state.is_open(), "a final state is final: {before:?} {delivery:?}");
            assert_eq!(before.replays, delivery.replays);
            if let Some(attempt) = attempt {
                let rounds = self.rounds.entry(name).or_default();
                rounds.push(delivery.replays);
                assert_eq!(attempt.number as usize, rounds.len(), "recorded once, in order");
                assert_eq!(attempt.number, delivery.attempts);
                let made = rounds.iter().filter(|round| **round == delivery.replays).count();
                assert!(made <= most as usize, "{made} attempts of {most}");
            }
        }
        if let Some((endpoint, endpoint_state)) = endpoint_state {
            let before = self.endpoint_states.insert(endpoint, endpoint_state);
            assert_ne!(before, Some(endpoint_state), "written only when it changed");
        }
        if let Some((endpoint, end)) = write.hint_end {
            let known = self.hint_ends.entry(endpoint).or_default();
            *known = end.max(*known);
        }
    }

    /// Makes finished deliveries pending again.
    pub(crate) fn replay(&mut self, endpoint: EndpointId, now: Instant) -> Vec<Delivery> {
        let ended = |d: &&mut Delivery| d.endpoint == endpoint && !d.state.is_open();
        let mut replayed = Vec::new();
        for delivery in self.deliveries.values_mut().filter(ended) {
            *delivery = Delivery {
                state: DeliveryState::Pending,
                due: now,
                replays: delivery.replays + 1,
                call: None,
                ending: None,
                updated_at: now,
                ..*delivery
            };
            replayed.push(*delivery);
        }
        replayed
    }

    /// Deletes an endpoint: its open deliveries are cancelled.
    pub(crate) fn delete_endpoint(&mut self, endpoint: EndpointId) {
        for delivery in self.deliveries.values_mut() {
            if delivery.endpoint == endpoint && delivery.state.is_open() {
                delivery.state = DeliveryState::Cancelled;
            }
        }
        self.endpoint_states.remove(&endpoint);
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = &Delivery> {
        self.deliveries.values().filter(|delivery| delivery.state.is_open())
    }
}

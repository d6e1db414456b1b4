//! The receiver of a test, and the store that outlives its nodes.

use std::collections::BTreeMap;

use stagger_core::{Entropy, Hint, Instant, Span};
use stagger_scheduler::QueueChange;
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, Delivery, DeliveryState, EndpointId, EndpointState, MessageId,
};
use stagger_testkit::Mix;

use crate::fixture::answer;

/// The mood of a server; each lasts until the world changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Well,
    Down,
    Flaky,
    Throttling,
    Hanging,
    Gone,
    Refusing,
    Odd,
}

impl Behaviour {
    pub(crate) const ALL: [Self; 8] = [
        Self::Well,
        Self::Down,
        Self::Flaky,
        Self::Throttling,
        Self::Hanging,
        Self::Gone,
        Self::Refusing,
        Self::Odd,
    ];

    /// The answer to an attempt that may take `timeout`.
    pub(crate) fn answer(self, chance: &mut Mix, timeout: Span) -> AttemptAnswer {
        let latency = chance.draw(Span::from_millis(1), Span::from_millis(400));
        let pick = chance.next_u64() % 100;
        let plain = AttemptAnswer { latency, ..answer(Ok(200)) };
        match self {
            Self::Well => plain,
            Self::Down => AttemptAnswer { result: Err(AttemptFailure::Connect), ..plain },
            Self::Flaky if pick < 50 => AttemptAnswer { result: Ok(500), ..plain },
            Self::Flaky => plain,
            Self::Throttling if pick < 90 => {
                let result = Ok(if pick.is_multiple_of(2) { 429 } else { 503 });
                let hint = chance.draw(Span::ZERO, Span::from_secs(40));
                let hint = (!pick.is_multiple_of(3)).then_some(Hint::AtLeast(hint));
                AttemptAnswer { result, hint, ..plain }
            }
            Self::Throttling => plain,
            Self::Hanging => {
                AttemptAnswer { result: Err(AttemptFailure::Timeout), latency: timeout, ..plain }
            }
            Self::Gone if pick < 20 => AttemptAnswer { result: Ok(410), ..plain },
            Self::Gone => plain,
            Self::Refusing if pick < 30 => AttemptAnswer { result: Ok(422), ..plain },
            Self::Refusing if pick < 60 => AttemptAnswer { result: Ok(404), ..plain },
            Self::Refusing => plain,
            Self::Odd => odd(chance, plain),
        }
    }
}

fn odd(chance: &mut Mix, plain: AttemptAnswer) -> AttemptAnswer {
    let pick = usize::try_from(chance.next_u64() % 9).expect("below 9");
    let failure = AttemptFailure::ALL[pick];
    match chance.next_u64() % 6 {
        0 => AttemptAnswer { result: Ok(301), ..plain },
        1 => AttemptAnswer { result: Ok(500), hint: Some(Hint::Never), ..plain },
        2 => AttemptAnswer {
            result: Ok(200),
            hint: Some(Hint::AtLeast(Span::from_secs(99))),
            ..plain
        },
        3 => AttemptAnswer {
            result: Ok(410),
            hint: Some(Hint::AtLeast(Span::from_secs(5))),
            ..plain
        },
        _ => AttemptAnswer { result: Err(failure), ..plain },
    }
}

type Name = (MessageId, EndpointId);

/// Something on its way into the store.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    pub(crate) change: QueueChange,
    /// The end of a hint that came with it, for the checks; the origin of time if all hints were ended
    /// by hand.
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
        if let Some((endpoint, Instant::ORIGIN)) = write.hint_end {
            self.hint_ends.remove(&endpoint);
        } else if let Some((endpoint, end)) = write.hint_end {
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

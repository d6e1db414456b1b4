//! The open deliveries of one queue, by message, by order and by due time.

use std::collections::{BTreeMap, BTreeSet};

use stagger_core::Instant;

use super::transition::{QueueState, QueuedDelivery};
use crate::model::MessageId;

/// The most deliveries that become ready in one turn: a turn stays short, even if a whole backlog
/// is due at one moment. One turn needs only one.
const MOST_AT_ONCE: usize = 64;

/// Deliveries in reusable slots, indexed by message, by order of messages, and by due time.
#[derive(Debug, Default)]
pub(super) struct PendingIndex {
    slots: Vec<Option<QueuedDelivery>>,
    free: Vec<u32>,
    by_message: BTreeMap<MessageId, u32>,
    /// Ready, and never attempted since the last replay.
    fresh: BTreeSet<MessageId>,
    /// Ready, and attempted before.
    again: BTreeSet<MessageId>,
    waiting: BTreeSet<(Instant, u32)>,
    /// Ready, and asked for: these go before all others.
    next: BTreeSet<MessageId>,
}

/// The most deliveries that go before all others. Further ones take their turn.
const MOST_NEXT: usize = 64;

impl PendingIndex {
    pub(super) fn len(&self) -> usize {
        self.by_message.len()
    }

    pub(super) fn ready(&self) -> usize {
        self.fresh.len() + self.again.len()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Adds a delivery; `false` if its message has one already, or there is no slot left.
    pub(super) fn put(&mut self, now: Instant, mut queued: QueuedDelivery) -> bool {
        if self.by_message.contains_key(&queued.message) {
            return false;
        }
        let Some(slot) = self.free_slot() else { return false };
        self.by_message.insert(queued.message, slot);
        if queued.due <= now {
            queued.state = QueueState::Ready;
            self.queue(queued.is_retry()).insert(queued.message);
        } else {
            queued.state = QueueState::Waiting;
            self.waiting.insert((queued.due, slot));
        }
        self.slots[slot as usize] = Some(queued);
        true
    }

    /// Makes a delivery due, and the next of all; returns it, or `None` if there is none of this
    /// message. One that is being attempted stays as it is.
    pub(super) fn make_next(&mut self, now: Instant, message: MessageId) -> Option<QueuedDelivery> {
        let queued = self.make_due(now, message)?;
        if queued.state == QueueState::Ready && self.next.len() < MOST_NEXT {
            self.next.insert(message);
        }
        Some(queued)
    }

    /// Makes the waiting delivery due that would become so first.
    pub(super) fn make_first_due(&mut self, now: Instant) {
        let first = self.waiting.first().and_then(|(_, slot)| self.slots.get(*slot as usize));
        if let Some(message) = first.and_then(Option::as_ref).map(|queued| queued.message) {
            self.make_due(now, message);
        }
    }

    /// Brings a waiting delivery forward to the due time of `known`, which was read from the store after
    /// the same number of attempts.
    pub(super) fn bring_forward(&mut self, now: Instant, known: &QueuedDelivery) {
        let slot = self.by_message.get(&known.message);
        let here = slot.and_then(|slot| self.slots.get(*slot as usize)?.as_ref());
        let is_sooner = here.is_some_and(|here| {
            here.state == QueueState::Waiting
                && (here.attempts, here.replays) == (known.attempts, known.replays)
                && known.due < here.due
        });
        if is_sooner && let Some(here) = self.take(known.message) {
            self.put(now, QueuedDelivery { due: known.due, ..here });
        }
    }

    fn make_due(&mut self, now: Instant, message: MessageId) -> Option<QueuedDelivery> {
        let slot = *self.by_message.get(&message)?;
        let here = *self.slots.get(slot as usize)?.as_ref()?;
        if here.state == QueueState::Waiting {
            self.take(message);
            self.put(now, QueuedDelivery { due: here.due.min(now), ..here });
        }
        let slot = *self.by_message.get(&message)?;
        self.slots.get(slot as usize).copied().flatten()
    }

    /// Removes a delivery in any state.
    pub(super) fn take(&mut self, message: MessageId) -> Option<QueuedDelivery> {
        let slot = self.by_message.remove(&message)?;
        let queued = self.slots.get_mut(slot as usize)?.take()?;
        self.lift(slot, &queued);
        self.free.push(slot);
        if self.by_message.is_empty() {
            // The memory of a backlog is given back once it has left.
            (self.slots, self.free) = (Vec::new(), Vec::new());
        }
        Some(queued)
    }

    /// Marks a delivery as in flight, and returns it.
    pub(super) fn launch(&mut self, message: MessageId) -> Option<QueuedDelivery> {
        let slot = *self.by_message.get(&message)?;
        let queued = self.slots.get_mut(slot as usize)?.as_mut()?;
        let before = *queued;
        queued.state = QueueState::UnderWay;
        self.lift(slot, &before);
        Some(before)
    }

    /// Makes due deliveries ready, a bounded number in one call.
    pub(super) fn wake(&mut self, now: Instant) {
        for _ in 0..MOST_AT_ONCE {
            let Some(&(due, slot)) = self.waiting.first() else { return };
            if due > now {
                return;
            }
            self.waiting.pop_first();
            if let Some(queued) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) {
                queued.state = QueueState::Ready;
                let (retry, message) = (queued.is_retry(), queued.message);
                self.queue(retry).insert(message);
            }
        }
    }

    /// Whether one could go now.
    pub(super) fn has_ready(&self, now: Instant) -> bool {
        self.ready() > 0 || self.next_due().is_some_and(|due| due <= now)
    }

    /// The message that was asked for, else the oldest that is ready; and whether its attempt repeats
    /// one.
    pub(super) fn first_ready(&self) -> Option<(MessageId, bool)> {
        if let Some(next) = self.next.first() {
            return Some((*next, self.again.contains(next)));
        }
        match (self.fresh.first(), self.again.first()) {
            (Some(fresh), Some(again)) if again < fresh => Some((*again, true)),
            (Some(fresh), _) => Some((*fresh, false)),
            (None, again) => again.map(|again| (*again, true)),
        }
    }

    /// The oldest message that is ready for its first attempt.
    pub(super) fn first_fresh(&self) -> Option<MessageId> {
        self.fresh.first().copied()
    }

    /// The oldest of all, ready or not.
    pub(super) fn oldest(&self) -> Option<&QueuedDelivery> {
        let (_, slot) = self.by_message.first_key_value()?;
        self.slots.get(*slot as usize)?.as_ref()
    }

    /// The time at which the next waiting delivery is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.first().map(|(due, _)| *due)
    }

    fn free_slot(&mut self) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = u32::try_from(self.slots.len()).ok()?;
        self.slots.push(None);
        Some(slot)
    }

    /// Removes a delivery from the index of its state.
    fn lift(&mut self, slot: u32, queued: &QueuedDelivery) {
        self.next.remove(&queued.message);
        match queued.state {
            QueueState::Ready => self.queue(queued.is_retry()).remove(&queued.message),
            QueueState::Waiting => self.waiting.remove(&(queued.due, slot)),
            QueueState::UnderWay => false,
        };
    }

    const fn queue(&mut self, retry: bool) -> &mut BTreeSet<MessageId> {
        if retry { &mut self.again } else { &mut self.fresh }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn message(n: u8) -> MessageId {
        MessageId::from_uuid(Uuid::from_u128(u128::from(n)))
    }

    fn queued(n: u8, due: u64) -> QueuedDelivery {
        QueuedDelivery {
            message: message(n),
            due: Instant::from_nanos(due),
            changed_at: Instant::ORIGIN,
            attempts: 0,
            replays: 0,
            progress: None,
            state: QueueState::Waiting,
        }
    }

    #[derive(Clone, Debug)]
    enum Event {
        Put(u8, u64),
        Take(u8),
        Launch(u8),
        Wake(u64),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let name = || 0_u8..12;
        let event = prop_oneof![
            4 => (name(), 0_u64..50).prop_map(|(n, due)| Event::Put(n, due)),
            2 => name().prop_map(Event::Take),
            1 => name().prop_map(Event::Launch),
            2 => (0_u64..10).prop_map(Event::Wake),
        ];
        prop::collection::vec(event, 1..200)
    }

    proptest! {
        /// Against a plain list: a slot that is used again must not wake at its last owner's time.
        #[test]
        fn a_shelf_is_a_list_that_is_searched(events in events()) {
            let mut pending = PendingIndex::default();
            let mut list: BTreeMap<MessageId, QueuedDelivery> = BTreeMap::new();
            let mut now = Instant::ORIGIN;
            for event in events {
                match event {
                    Event::Put(n, due) => {
                        let mut new = queued(n, now.as_nanos() + due / 2);
                        if due <= 1 {
                            new.state = QueueState::Ready;
                        }
                        prop_assert_eq!(pending.put(now, new), !list.contains_key(&new.message));
                        list.entry(new.message).or_insert(new);
                    }
                    Event::Take(n) => {
                        prop_assert_eq!(pending.take(message(n)), list.remove(&message(n)));
                    }
                    Event::Launch(n) => {
                        let launched = pending.launch(message(n)).is_some();
                        prop_assert_eq!(launched, list.contains_key(&message(n)));
                        list.entry(message(n)).and_modify(|queued| queued.state = QueueState::UnderWay);
                    }
                    Event::Wake(span) => {
                        now = Instant::from_nanos(now.as_nanos() + span);
                        pending.wake(now);
                        let waiting = list.values_mut().filter(|one| one.state == QueueState::Waiting);
                        for due in waiting.filter(|one| one.due <= now) {
                            due.state = QueueState::Ready;
                        }
                    }
                }
                let count = |state| list.values().filter(|one| one.state == state).count();
                prop_assert_eq!(pending.len(), list.len());
                prop_assert_eq!(pending.ready(), count(QueueState::Ready));
                prop_assert_eq!(pending.waiting(), count(QueueState::Waiting));
                let first = list.values().find(|one| one.state == QueueState::Ready);
                prop_assert_eq!(pending.first_ready(), first.map(|one| (one.message, false)));
                prop_assert_eq!(pending.oldest(), list.values().next());
                let waiting = list.values().filter(|one| one.state == QueueState::Waiting);
                prop_assert_eq!(pending.next_due(), waiting.map(|one| one.due).min());
            }
        }
    }

    #[test]
    fn a_delivery_that_is_asked_for_goes_first_and_waits_no_longer() {
        let (mut pending, now) = (PendingIndex::default(), Instant::from_nanos(5));
        for n in 1..=3 {
            pending.put(now, queued(n, if n == 1 { 0 } else { 100 }));
        }
        let next = pending.make_next(now, message(3)).expect("it is there");
        assert_eq!((next.due, next.state), (now, QueueState::Ready));
        assert_eq!(pending.first_ready(), Some((message(3), false)));
        pending.launch(message(3));
        assert_eq!(pending.first_ready(), Some((message(1), false)));
        assert_eq!(pending.make_next(now, message(3)).unwrap().state, QueueState::UnderWay);
        assert_eq!(pending.make_next(now, message(9)), None);
    }

    #[test]
    fn what_the_store_says_later_brings_only_the_same_delivery_forward() {
        let (mut pending, now) = (PendingIndex::default(), Instant::from_nanos(5));
        pending.put(now, queued(1, 100));
        let attempted = QueuedDelivery { attempts: 1, ..queued(1, 5) };
        pending.bring_forward(now, &attempted);
        pending.bring_forward(now, &queued(1, 200));
        assert_eq!(pending.next_due(), Some(Instant::from_nanos(100)));
        pending.bring_forward(now, &queued(1, 5));
        assert_eq!(pending.first_ready(), Some((message(1), false)));
    }

    #[test]
    fn a_backlog_that_is_due_at_once_does_not_hold_up_a_turn() {
        let mut pending = PendingIndex::default();
        for n in 0..=u8::MAX {
            pending.put(Instant::ORIGIN, queued(n, 5));
        }
        pending.wake(Instant::from_nanos(5));
        assert_eq!((pending.ready(), pending.waiting()), (MOST_AT_ONCE, 256 - MOST_AT_ONCE));
        assert!(pending.has_ready(Instant::from_nanos(5)));
    }
}

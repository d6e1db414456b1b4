//! Outermost calls: how they begin, and the next one of a closed client.

use stagger_core::Instant;

use super::callers::Callers;
use super::slab::{CallIdentity, NOWHERE};
use crate::queue::{CallerEvent, Class, Queue};

impl<Q: Queue> Callers<'_, Q> {
    /// The event of the next call's first attempt.
    #[inline]
    pub(super) fn arrival(&self, at: Instant, source: u8, client: Option<u32>) -> CallerEvent {
        let client = client.unwrap_or(self.calls);
        let event = CallerEvent::new(at, Class::Arrival, self.calls);
        event.with(u32::from(source), [u64::from(client), 0])
    }

    /// A new outermost call.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "as `arrival` made them")]
    pub(super) fn arrive(&mut self, event: CallerEvent) {
        // OK because the tag is the number of a source, and the word that of a client.
        let (id, source, client) = (event.id(), event.tag() as u8, event.words()[0] as u32);
        self.calls = self.calls.max(id + 1);
        if self.plain {
            self.score.arrival();
            return self.begin_plain(id);
        }
        // The sources of bystanders come after the callers' own, and so do their numbers.
        let other = usize::from(source).checked_sub(self.plan.arrivals.len());
        match other {
            None => self.score.arrival(),
            Some(_) => self.bystanders += 1,
        }
        let layer = other.map_or(0, |other| self.plan.callers.len() + other);
        // OK because a plan has fewer callers than a byte counts.
        let layer = u8::try_from(layer).unwrap_or(u8::MAX);
        let shard = self.traffic.backend.shard_of(id);
        let ledger = self.ledgers.number(layer, client, shard);
        let parent = None;
        self.begin_call(CallIdentity {
            id,
            client,
            slot: NOWHERE,
            layer,
            source,
            shard,
            ledger,
            parent,
        });
    }

    /// After the end of an outermost call a closed client thinks about its next one.
    #[inline]
    pub(super) fn think(&mut self, now: Instant, id: u32, client: u32, source: u8) {
        let rule = self.plan.source(source);
        if let Some(at) = rule.and_then(|rule| rule.next_call(self.seed, id, now)) {
            let next = self.arrival(at, source, Some(client));
            self.calls += 1;
            self.queue.push(next);
        }
    }
}

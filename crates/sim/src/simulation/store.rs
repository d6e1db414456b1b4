//! Requests to the store that processes lease permits from, and its answers.

use stagger_core::Instant;

use super::callers::Callers;
use crate::ledgers::LeaseRequest;
use crate::queue::{CallerEvent, Class, Queue};

impl<Q: Queue> Callers<'_, Q> {
    /// The process of this ledger asks the store for permits, if it is time to.
    #[inline]
    pub(super) fn ask_for_lease(&mut self, now: Instant, ledger: u32) {
        let Some(rule) = self.ledgers.store().map(|store| *store.rule()) else { return };
        let Some(leased) = self.ledgers.of(ledger).leased() else { return };
        if let Some(request) = leased.request(now) {
            let event = CallerEvent::new(now + rule.latency, Class::Lease, ledger);
            self.queue.push(event.with(REQUEST, request.to_words()));
        }
    }

    /// A request reaches the store, or its answer the process.
    pub(super) fn lease(&mut self, now: Instant, event: CallerEvent) {
        let ledger = event.id();
        let Some(store) = self.ledgers.store() else { return };
        let rule = *store.rule();
        if event.tag() == REQUEST {
            let request = LeaseRequest::from_words(event.words());
            if let Some(granted) = store.serve(now, ledger, request) {
                let answer = CallerEvent::new(now + rule.latency, Class::Lease, ledger);
                self.queue.push(answer.with(ANSWER, [u64::from(granted), 0]));
            }
        } else if let Some(leased) = self.ledgers.of(ledger).leased() {
            let granted = u32::try_from(event.words()[0]).unwrap_or(rule.lease);
            leased.granted(now, granted);
        }
    }
}

/// On the way to the store.
const REQUEST: u32 = 0;
/// On the way back.
const ANSWER: u32 = 1;

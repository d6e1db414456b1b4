//! The contract of every set of pending events, and its oracle in the standard binary heap: slow and plain.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::CallerEvent;

/// A set of pending events that gives them back in order.
pub trait Queue {
    /// Forgets all events and stands at the origin again.
    fn restart(&mut self);

    /// Adds an event; never earlier than the last one taken.
    fn push(&mut self, event: CallerEvent);

    /// Takes the first event if it comes before `limit`.
    fn pop_before(&mut self, limit: CallerEvent) -> Option<CallerEvent>;
}

/// A binary heap of events. It is here to be believed: [`Wheel`](super::Wheel) must agree with it.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    events: BinaryHeap<Reverse<CallerEvent>>,
}

impl Queue for Heap {
    fn restart(&mut self) {
        self.events.clear();
    }

    #[inline]
    fn push(&mut self, event: CallerEvent) {
        self.events.push(Reverse(event));
    }

    #[inline]
    fn pop_before(&mut self, limit: CallerEvent) -> Option<CallerEvent> {
        let first = self.events.peek()?.0;
        if first >= limit {
            return None;
        }
        self.events.pop();
        Some(first)
    }
}

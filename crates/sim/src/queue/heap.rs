//! Pending events in the standard binary heap: slow, plain, and therefore the oracle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Event, Queue};

/// A binary heap of events. It is here to be believed: [`Wheel`](super::Wheel) must agree with it.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    events: BinaryHeap<Reverse<Event>>,
}

impl Queue for Heap {
    #[inline]
    fn push(&mut self, event: Event) {
        self.events.push(Reverse(event));
    }

    #[inline]
    fn pop_before(&mut self, limit: Event) -> Option<Event> {
        let first = self.events.peek()?.0;
        if first >= limit {
            return None;
        }
        self.events.pop();
        Some(first)
    }
}

//! Pending events in the standard binary heap: slow, plain, and therefore the oracle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{CallerEvent, Queue};

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

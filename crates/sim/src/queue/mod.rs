//! Pending events in one total order: (time, class, id).

mod event;
mod heap;
mod wheel;

pub use event::{Class, Event};
pub use heap::Heap;
pub use wheel::Wheel;

/// A set of pending events that gives them back in order.
pub trait Queue {
    /// Adds an event; never earlier than the last one taken.
    fn push(&mut self, event: Event);

    /// Takes the first event if it comes before `limit`.
    fn pop_before(&mut self, limit: Event) -> Option<Event>;
}

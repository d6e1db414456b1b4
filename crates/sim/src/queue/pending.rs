//! The contract of every set of pending events.

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

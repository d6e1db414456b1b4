//! What every set of pending events must do.

use super::Event;

/// A set of pending events that gives them back in order.
pub trait Queue {
    /// Adds an event; never earlier than the last one taken.
    fn push(&mut self, event: Event);

    /// Takes the first event if it comes before `limit`.
    fn pop_before(&mut self, limit: Event) -> Option<Event>;

    /// Some events that will be taken soon, as far as the queue knows without work.
    ///
    /// A hint for whoever wants their data at hand in time; it decides nothing.
    fn upcoming(&self) -> &[Event] {
        &[]
    }
}

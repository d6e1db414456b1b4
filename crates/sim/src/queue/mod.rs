//! Pending events in one total order: (time, class, id).

mod chunks;
mod event;
mod wheel;

pub use event::{CallerEvent, Class};
pub use event::{Heap, Queue};
pub use wheel::Wheel;

//! Pending events in one total order: (time, class, id).

mod chunks;
mod due;
mod event;
mod occupied;
mod pending;
mod wheel;

pub use event::{CallerEvent, Class};
pub use pending::{Heap, Queue};
pub use wheel::Wheel;

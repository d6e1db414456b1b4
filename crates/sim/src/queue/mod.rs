//! Pending events in one total order: (time, class, id).

mod chunks;
mod due;
mod event;
mod heap;
mod occupied;
mod pending;
mod wheel;

pub use event::{CallerEvent, Class};
pub use heap::Heap;
pub use pending::Queue;
pub use wheel::Wheel;

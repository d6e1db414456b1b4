//! The pure middle: which attempt is made next, and what an answer means. Told the time and chance, it
//! answers with data.
//!
//! A [`Floor`] holds one lane for each endpoint. A lane holds its endpoint's open deliveries, ready or
//! waiting, and everything that may hold them back: slots, rate, pause, breaker, budget, recovery,
//! order.

mod floor;
mod launch;
mod view;

pub use floor::Floor;
pub use launch::{Launch, News, Next, Settled};
pub use view::LaneView;

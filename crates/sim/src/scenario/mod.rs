//! The scenarios that ship.

mod catalogue;
mod contention;
mod fleets;
mod herd;
mod hints;
mod metastable;
mod papers;
mod play;
mod published;
mod pulse;
mod ramps;
mod services;
mod shapes;
mod spread;
mod story;

pub use catalogue::{CATALOGUE, Named};
pub use contention::Contention;
pub use play::{Peak, Play};
pub use shapes::{Growth, Mean, Shape, Shapes, ShapesReport, Wave};
use story::entries;
pub use story::{Scenario, ScenarioCase, ScenarioEntry, StormOptions};

//! The scenarios that ship.

mod backlog;
mod catalogue;
mod contended;
mod contention;
mod crashed;
mod default_fleet;
mod failing;
mod fleet;
mod hedged;
mod herd;
mod hotos25;
mod layers;
mod lockstep;
mod metastable;
mod noticed;
mod options;
mod osdi22;
mod play;
mod pulse;
mod restart;
mod serverless;
mod shapes;
mod sharded;
mod steady;
mod story;
mod told;
mod tutorial;
mod variants;
mod viewers;

pub use catalogue::{CATALOGUE, Named};
pub use contention::Contention;
pub use options::StormOptions;
pub use play::{Peak, Play};
pub use shapes::{Growth, Mean, Shape, Shapes, ShapesReport, Wave};
use story::entries;
pub use story::{Scenario, ScenarioCase, ScenarioEntry};

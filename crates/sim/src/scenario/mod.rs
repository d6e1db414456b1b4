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
mod osdi22;
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
pub use shapes::{Growth, Mean, Shape, Shapes, ShapesReport, Wave};
pub use story::{Case, Entry, Options, Peak, Play, Scenario};

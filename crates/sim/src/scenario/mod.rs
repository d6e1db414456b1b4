//! The scenarios that ship.

mod backlog;
mod catalogue;
mod contended;
mod contention;
mod fleet;
mod hedged;
mod layers;
mod lockstep;
mod restart;
mod serverless;
mod shapes;
mod sharded;
mod story;
mod told;
mod viewers;

pub use catalogue::{CATALOGUE, Named};
pub use contention::Contention;
pub use shapes::{Growth, Mean, Shape, Shapes, ShapesReport, Wave};
pub use story::{Case, Entry, Options, Peak, Play, Scenario};

//! The scenarios that ship.

mod catalogue;
mod contended;
mod contention;
mod failing;
mod herd;
mod hotos25;
mod lockstep;
mod metastable;
mod noticed;
mod osdi22;
mod shapes;
mod steady;
mod story;
mod tutorial;

pub use catalogue::{CATALOGUE, Named};
pub use contention::Contention;
pub use shapes::{Growth, Mean, Shape, Shapes, ShapesReport, Wave};
pub use story::{Case, Entry, Options, Peak, Play, Scenario};

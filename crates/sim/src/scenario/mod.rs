//! The scenarios that ship with the lab.

mod comparison;
mod lockstep;
mod poisson;
mod shapes;
mod tutorial;

pub use lockstep::Lockstep;
pub use poisson::Poisson;
pub use shapes::{Growth, Mean, Shape, Shapes, ShapesReport, Wave};
pub use tutorial::Tutorial;

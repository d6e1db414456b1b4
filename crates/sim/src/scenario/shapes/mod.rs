//! The shapes of the laws themselves: means, the weight on the cap, and one wave of retries.

mod chains;
mod shape;

pub use chains::Shapes;
pub use shape::{Growth, Mean, Shape, ShapesReport, Wave};

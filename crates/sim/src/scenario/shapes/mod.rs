//! The shapes of the laws themselves: means, the weight on the cap, and one wave of retries.

mod chains;
mod figures;
mod report;
mod shape;
mod wave;

pub use figures::Shapes;
pub use report::{Growth, Mean, ShapesReport, Wave};
pub use shape::Shape;

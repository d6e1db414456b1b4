//! The shapes of the laws themselves: means, the weight on the cap, and one wave of retries.

mod chains;
mod figures;
mod shape;
mod wave;

pub use figures::{Growth, Mean, Shapes, ShapesReport, Wave};
pub use shape::Shape;

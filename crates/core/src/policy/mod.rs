//! One immutable plan for every call to a destination.

mod builder;
mod hints;
mod plan;
mod preset;

pub use builder::PolicyBuilder;
pub use hints::{HintRule, LongHint};
pub use plan::Policy;

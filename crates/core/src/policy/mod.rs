//! One immutable plan for every call to a destination.

mod builder;
mod hints;
mod plan;
mod preset;
#[cfg(feature = "serde")]
pub mod service_config;
#[cfg(feature = "serde")]
mod text;

pub use builder::PolicyBuilder;
pub use hints::{HintRule, HintScope, LongHint};
pub use plan::Policy;

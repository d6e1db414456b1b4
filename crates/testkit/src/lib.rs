//! Test parts shared by the crates of stagger; never a dependency of a shipped crate.

mod entropy;
#[cfg(feature = "server")]
pub mod server;
pub mod vectors;

pub use entropy::{Mix, Scripted, highest, lowest};

//! Re-exports the engine.
pub use stagger_core::*;

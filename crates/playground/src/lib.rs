//! The storm lab behind the page in `docs/playground`: the herd of the catalogue under one law,
//! with what the page's sliders say, played by `stagger-sim` itself.
//!
//! The page calls the functions of [`border`], which take and give plain numbers, so no tool has to
//! generate anything between the two.

pub mod border;
mod knobs;
mod picture;

pub use knobs::Knobs;
pub use picture::{Picture, laws};

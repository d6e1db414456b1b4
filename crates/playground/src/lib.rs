//! The storm lab behind the page in `docs/playground`: the herd of the catalogue, or an outage under a steady load,
//! with the values of the page's sliders, played by `stagger-sim` itself.
//!
//! The page calls the functions of [`border`], which take and give plain numbers, so no tool has to
//! generate anything between the two.

pub mod border;
mod knobs;
mod outage;
mod picture;

pub use knobs::Knobs;
pub use outage::{OutageKind, OutageKnobs};
pub use picture::{Picture, laws};

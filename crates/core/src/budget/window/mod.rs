//! The windowed ratio: first attempts and time earn retries, which are kept for a window.

mod plan;
mod rule;
mod state;

pub use plan::{FloorRate, WindowPlan};
pub use state::WindowState;

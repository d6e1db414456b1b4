//! The windowed ratio: first attempts and time earn retries, which are kept for a window.

mod floor;
mod plan;
mod rule;
mod state;

pub use floor::FloorRate;
pub use plan::WindowPlan;
pub use state::WindowState;

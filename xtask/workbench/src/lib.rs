//! The parts that the programs of this repository share: their output, and the workspace as cargo sees it.

mod format;
mod workspace;

pub use format::{Format, complain, emit, note};
pub use workspace::{Dependency, Package, Workspace, cargo, program};

//! The parts that the programs of this repository share: their output, the servers of their runs, and the workspace as cargo sees it.

mod format;
mod script_server;
mod workspace;

pub use format::{Format, complain, emit, note};
pub use script_server::ScriptServer;
pub use workspace::{Dependency, Package, Workspace, cargo, program};

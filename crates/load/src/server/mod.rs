//! The server of a scenario over sockets: one task decides, one task a connection speaks HTTP.

mod backend_task;
mod scenario_server;

pub use backend_task::ServerCounts;
pub use scenario_server::ScenarioServer;

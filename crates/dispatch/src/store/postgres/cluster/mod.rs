//! What the database offers to several nodes: rows that say who is there, who leads what, what waits for
//! whom. Nobody's clock is read, neither the server's nor a client's.

mod arrivals;
mod change_log;
mod commands;
mod contract;
#[cfg(test)]
mod evictions;
#[cfg(test)]
mod hearing;
mod members;
mod notifications;
mod shards;
mod wire_text;

pub(super) use change_log::Changed;
pub(super) use members::BeginRun;
pub(super) use notifications::{ListenerConfig, Notifications};

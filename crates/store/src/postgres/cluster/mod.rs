//! The cluster operations of the database: rows for members, leaders, arrivals and commands. No
//! clock is read, neither the server's nor a client's.

mod arrivals;
mod change_log;
mod contract;
#[cfg(test)]
mod eviction_test;
mod members;
#[cfg(test)]
mod notification_test;
mod notifications;

pub(super) use change_log::Changed;
pub(super) use members::BeginRun;
pub(super) use notifications::{ListenerConfig, Notifications, channel_of, work_text};

//! The store without a disk: of one node, or of several in one process, which tests can cut off.

mod arrivals;
mod change_log;
mod cluster;
mod commands;
#[cfg(test)]
mod handover_test;
mod members;
mod notifications;
mod reads;
mod store;
mod store_link;
mod tables;

pub use store::MemoryStore;
pub use store_link::LinkFault;

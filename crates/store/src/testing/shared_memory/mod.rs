//! A store in memory that several nodes of one process share.

mod change_log;
mod cluster;
#[cfg(test)]
mod handover_test;
mod members;
mod store;

pub(crate) use store::SharedMemoryStore;

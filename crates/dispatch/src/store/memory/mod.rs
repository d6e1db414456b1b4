//! The store without a disk: of one node, or of several in one process, which tests can cut off.

mod arrivals;
mod cluster;
mod hints;
mod line;
mod log;
mod members;
mod orders;
mod reads;
mod store;
mod tables;

pub use line::Cut;
pub use store::MemoryStore;

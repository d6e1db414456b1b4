//! The store without a disk.

mod reads;
mod store;
mod tables;

pub use store::MemoryStore;

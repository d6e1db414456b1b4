//! The store without a disk, of one node.

mod reads;
mod store;
mod tables;

pub use store::MemoryStore;
#[cfg(any(test, feature = "testing"))]
pub(crate) use tables::Tables;

//! Where everything durable is kept: one contract, several stores.

#[cfg(test)]
mod conformance;
mod contract;
#[cfg(test)]
mod fixture;
mod memory;
mod page;
mod settlement;
mod sqlite;

pub use contract::{Accepted, Counts, Pruned, ReplayRequest, Store};
pub use memory::MemoryStore;
pub use page::{Cursor, DeliveryFilter, MessageFilter, Page, PageRequest};
pub use settlement::{Fence, Settlement};
pub use sqlite::{Health, SqliteOptions, SqliteStore, backup, check, restore};

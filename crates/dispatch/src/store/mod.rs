//! Where everything durable is kept: one contract, several stores.

mod bits;
mod columns;
#[cfg(test)]
mod conformance;
mod contract;
mod copy;
#[cfg(test)]
mod differential;
mod document;
#[cfg(test)]
mod fixture;
mod id_range;
mod memory;
mod numbers;
mod page;
mod place;
mod postgres;
mod saved;
mod settlement;
mod sqlite;
mod tally;
mod unreadable;
mod verdicts;
mod walk;

pub use contract::{Accepted, Counts, Pruned, ReplayRequest, Store};
pub use copy::{Copied, copy};
pub use memory::MemoryStore;
pub use page::{Cursor, DeliveryFilter, MessageFilter, Page, PageRequest};
pub use place::StorePlace;
pub use postgres::{
    PostgresAddress, PostgresOptions, PostgresStore, check_postgres, migrate_postgres,
};
pub use settlement::{Fence, Settlement};
pub use sqlite::{Health, SqliteOptions, SqliteStore, backup, check, restore};

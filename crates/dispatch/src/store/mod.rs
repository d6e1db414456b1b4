//! Durable storage: one contract, several stores.

mod bits;
mod cluster;
#[cfg(test)]
mod cluster_differential_test;
mod columns;
#[cfg(test)]
mod conformance;
mod contract;
mod copy;
#[cfg(test)]
mod differential_test;
mod document;
mod id_range;
mod memory;
mod numbers;
mod page;
mod place;
mod postgres;
mod saved;
mod settlement;
mod shard;
mod sqlite;
mod tally;
#[cfg(test)]
pub(crate) mod test_fixture;
mod unreadable;
mod verdicts;
mod walk;

pub use cluster::{
    Arrival, ChangeLog, Cluster, ClusterAccept, ClusterView, EndpointCommand, Joined, Lead, Member,
    Notification, SettingChange,
};
pub use contract::{Accepted, Counts, Pruned, ReplayRequest, Store};
pub use copy::{Copied, copy};
pub use memory::{Cut, MemoryStore};
pub use page::{Cursor, DeliveryFilter, MessageFilter, Page, PageRequest};
pub use place::StorePlace;
pub use postgres::{
    PostgresAddress, PostgresOptions, PostgresStore, check_postgres, migrate_postgres,
};
pub use settlement::{Fence, Settlement};
pub use shard::{Shard, Shards};
pub use sqlite::{Health, SqliteOptions, SqliteStore, backup, check, restore};

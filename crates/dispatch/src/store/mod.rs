//! Durable storage: one contract, several stores.

mod calls;
mod cluster;
mod cluster_handle;
mod contract;
mod copy;
mod document;
mod encoding;
mod id_range;
mod memory;
mod page;
mod place;
mod postgres;
mod saved;
mod settlement;
mod sole_cluster;
mod sqlite;
mod tally;
#[cfg(test)]
pub(crate) mod testing;
mod unreadable;
mod walk;

pub use calls::{Accepted, DeliveryCounts, Pruned, ReplayRequest, SettingWrite};
pub use cluster::{
    Arrival, ChangeLog, Cluster, ClusterAccept, EndpointCommand, Joined, Lead, Notification,
    SettingChange,
};
pub(crate) use cluster_handle::ClusterHandle;
pub use contract::DeliveryStore;
pub use copy::{Copied, copy};
pub use memory::{LinkFault, MemoryStore};
pub use page::{Cursor, DeliveryFilter, ListPage, MessageFilter, PageRequest};
pub use place::StorePlace;
pub use postgres::{
    PostgresAddress, PostgresOptions, PostgresStore, check_postgres, migrate_postgres,
};
pub use settlement::Settlement;
pub use sqlite::{Health, SqliteOptions, SqliteStore, backup, check, restore};
pub use stagger_scheduler::leadership::{ClusterMember, ClusterView, Fence, ShardId, Shards};

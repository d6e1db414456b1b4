#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod audit;
mod auth_document;
mod calls;
mod cluster;
mod contract;
mod copy;
mod document;
mod encoding;
mod encryption;
mod error;
mod fair_jobs;
mod memory;
mod place;
mod postgres;
mod rng;
mod setting_document;
mod sole_cluster;
mod sqlite;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod walk;

pub use audit::{AuditEntry, MOST_AUDITED};
pub use calls::{
    Accepted, Cursor, DeliveryCounts, DeliveryFilter, Health, ListPage, MessageFilter, PageRequest,
    Pruned, ReplayRequest, SettingWrite, Settlement,
};
pub use cluster::{
    Arrival, ChangeLog, Cluster, ClusterAccept, EndpointCommand, Joined, Lead, Notification,
    SettingChange,
};
pub use contract::DeliveryStore;
pub use copy::{Copied, copy, copy_with_keys};
pub use encryption::EncryptionKeys;
pub use error::{Error, RejectedEvent, StoreBackoff};
pub use memory::MemoryStore;
pub use place::{ClusterHandle, StorePlace};
pub use postgres::{
    PostgresAddress, PostgresOptions, PostgresStore, check_postgres, migrate_postgres,
};
pub use setting_document::{DocumentKey, DocumentKind, SettingDocument};
pub use sqlite::{SqliteOptions, SqliteStore, backup, check, restore};
pub use stagger_scheduler::leadership::{
    ClusterMember, ClusterView, Fence, NodeIdentity, ShardId, Shards,
};
/// The client of PostgreSQL within whose transactions [`DeliveryStore::accept_within`] accepts.
pub use tokio_postgres;

//! The embedded store: one SQLite file in a folder, with a write-ahead log.
//!
//! One thread makes all writes of [`SqliteStore`] and commits the queued ones in one transaction; a
//! write is answered once that is on the disk (`synchronous=FULL`). A few connections read. Counts
//! of deliveries are kept in a table within each transaction, so that no query counts rows. Lists
//! walk along indexes. Messages by time need no index: their ids begin with a time.
//!
//! Secrets are encrypted if there is a key for them. The file, its side files and backups are readable by their
//! owner only.
//!
//! A full disk, a broken one or a lock of another process answers with
//! [`is_unavailable`](crate::Error::is_unavailable); nothing is half-written, and later writes work
//! again once the cause is gone.

mod accept;
mod audit;
mod backup;
mod checkpointer;
mod documents;
#[cfg(test)]
mod failure_test;
mod file;
mod lists;
mod lookups;
mod prune;
mod rekey;
mod row;
mod settle;
mod store;
mod tenants;
#[cfg(test)]
pub(super) mod test_folder;
mod writer;

pub use backup::{backup, check, restore};
pub use file::SqliteOptions;
pub(super) use file::has_store;
pub use store::SqliteStore;

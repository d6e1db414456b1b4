//! The store for more than one machine: a PostgreSQL database.
//!
//! Each write is one transaction. Concurrent calls of `accept` share one, as settlements do: rows
//! are written and read as arrays, so that a thousand cost one statement and one round trip where everything is as
//! usual, and a handful otherwise. Few deliveries
//! are ever searched for: the scheduler knows the open ones, so the database is queried by key, or
//! along an index.
//!
//! The table that changes most, `delivery`, is narrow, and a delivery that fails and waits touches
//! no index. Payloads are in their own table. Attempts, which are most of the bytes, are
//! partitioned by day and dropped by the day.
//!
//! A connection that breaks while a transaction is being committed leaves it in doubt whether it holds.
//! `accept` and `replay` find out before they answer, because memory has to agree with the database; all
//! other writes can be made again whatever became of them.
//!
//! The statements also run on CockroachDB and YugabyteDB where possible.

mod accept;
mod accept_at_once;
mod accept_within;
#[cfg(test)]
mod accept_within_test;
mod address;
mod attempts;
mod audit;
mod cluster;
mod days;
mod deliveries;
#[cfg(test)]
mod differential_test;
mod documents;
mod intake;
mod lists;
mod lookups;
mod migrations;
#[cfg(test)]
mod outage_test;
#[cfg(test)]
mod pgbouncer_test;
mod pool;
mod pooler;
mod prune;
mod rekey;
mod row;
mod settle;
mod settle_at_once;
mod statement;
mod store;
mod tenants;
#[cfg(test)]
pub(super) mod test_schema;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tls_test;
#[cfg(test)]
mod upgrade_test;
mod writer;

pub use address::{PostgresAddress, PostgresOptions};
pub use migrations::{check_postgres, migrate_postgres};
pub use store::PostgresStore;

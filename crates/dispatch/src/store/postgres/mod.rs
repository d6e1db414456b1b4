//! The store for more than one machine: a PostgreSQL database.
//!
//! Each write is one transaction. Calls of `accept` that come together share one, as settlements do: rows
//! go in and out as arrays, so that a thousand cost a handful of round trips. Few deliveries are ever
//! looked for: the floor knows the open ones, so the database is asked by name, or along an index.
//!
//! What is changed most, `delivery`, is narrow, and a delivery that fails and waits touches no index.
//! Payloads are apart. Attempts, which are most of the bytes, are kept by day and go by the day.
//!
//! A connection that breaks while a transaction is being committed leaves it in doubt whether it holds.
//! `accept` and `replay` find out before they answer, because memory has to agree with the database; all
//! other writes can be made again whatever became of them.
//!
//! The statements keep to what CockroachDB and YugabyteDB take too, where that is possible.

mod accept;
mod address;
mod changes;
mod cluster;
mod column;
mod days;
mod db_error;
mod deliveries;
#[cfg(test)]
mod differential;
#[cfg(test)]
mod doubts;
mod health;
mod intake;
mod lists;
mod lookups;
mod marks;
mod migrations;
mod options;
#[cfg(test)]
mod outages;
mod pool;
#[cfg(test)]
mod proxy;
mod prune;
mod replay;
mod row;
#[cfg(test)]
pub(super) mod scratch;
#[cfg(test)]
mod server;
mod settle;
mod statement;
mod store;
mod sweep;
mod tally;
mod tenants;
mod tls;
#[cfg(test)]
mod tls_wires;
#[cfg(test)]
mod upgrades;
mod writer;

pub use address::PostgresAddress;
pub use health::check_postgres;
pub use migrations::migrate_postgres;
pub use options::PostgresOptions;
pub use store::PostgresStore;

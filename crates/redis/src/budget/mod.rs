//! One budget for a whole fleet: permits that a task leases in the background, and that calls take.
//!
//! ```text
//!  calls ──ask──▶ Leased ◀──permits── LeaseClient ◀──one script a lease── SharedStore ── Redis, Valkey
//!         (atomics)       ──events──▶ (task)
//! ```

#[cfg(test)]
mod differential_test;
mod lease_client;
mod leased;
mod permits;
mod script;
mod sync;

pub(crate) use lease_client::LeaseClient;
pub(crate) use leased::Leased;

//! One breaker for a whole fleet. No call waits for the store: it asks what this process knows.
//!
//! ```text
//!  calls ──admit──▶ FleetBreaker ◀──state, leases of probes── Watcher ◀──one script── SharedStore
//!         (atomics, Replica) ──trips, results of probes──▶    (task)
//! ```

#[cfg(test)]
mod differential_test;
mod fleet_breaker;
mod replica;
mod script;
mod watcher;

pub(crate) use fleet_breaker::FleetBreaker;
pub(crate) use watcher::Watcher;

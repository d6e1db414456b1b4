//! One breaker for a whole fleet. No call ever waits for the store: it asks what this process knows.
//!
//! ```text
//!  calls ──admit──▶ FleetBreaker ◀──where it stands, leases of probes── Watcher ◀──one script── SharedStore
//!         (atomics, Replica) ─trips, what probes found──▶        (task)
//! ```

#[cfg(test)]
mod differential_test;
mod fleet_breaker;
mod held_leases;
mod notify;
mod replica;
mod script;
mod sync;
mod transitions;
mod watcher;

pub(super) use fleet_breaker::FleetBreaker;
pub(super) use watcher::Watcher;

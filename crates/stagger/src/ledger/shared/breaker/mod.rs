//! One breaker for a whole fleet. No call ever waits for the store: it asks what this process knows.
//!
//! ```text
//!  calls ──admit──▶ Gate ◀──where it stands, leases of probes── Watcher ◀──one script── SharedStore
//!         (atomics, Mirror) ──trips, what probes found──▶        (task)
//! ```

mod bell;
#[cfg(test)]
mod differential;
mod exchange;
mod follow;
mod gate;
mod hand;
mod mirror;
mod script;
mod watcher;

pub(super) use gate::Gate;
pub(super) use watcher::Watcher;

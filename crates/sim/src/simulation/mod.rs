//! One run: callers, a backend and the pending events, until nothing is left to happen.

mod arrivals;
mod attempts;
mod callers;
mod connections;
mod parking;
mod plain;
mod played;
mod run;
mod score;
mod slab;
mod store;
mod traffic;

pub use played::{Played, Series};
pub use run::Simulation;

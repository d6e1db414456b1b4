//! The default budget in the layouts that people use: `cargo xtask bench budget`.
//!
//! Each layout makes the same calls in virtual time, first to a server that answers and then to one that hangs
//! or refuses. The attempts are counted where they arrive, never by the library's own figures.

mod axum;
mod caller;
mod chore;
mod closures;
mod connection;
mod layout;
mod outage;
mod redis;
mod redis_clock;
mod report;
mod reqwest;
mod tonic;
mod tower;
mod upstream;

pub(super) use chore::run;
pub(super) use layout::Layout;

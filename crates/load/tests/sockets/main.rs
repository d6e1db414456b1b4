//! Runs over real sockets on loopback: counts, refusals and bounds, and no assertion about time.
#![expect(clippy::unwrap_used, reason = "what is unexpected in a test is a failure")]

mod bounds;
mod fixture;
mod hostile_servers;
mod model;
mod server;

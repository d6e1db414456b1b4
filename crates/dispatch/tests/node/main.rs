//! A real node with real receivers over loopback sockets: its promises, and known failures of other
//! dispatchers. No test sleeps; each waits for its event.

mod endings;
mod fixture;
mod handshakes;
mod journey;
mod metrics;
mod retries;
#[path = "../shared/mod.rs"]
mod shared;
mod spied;
mod throughput;
mod tokens;
mod trouble;

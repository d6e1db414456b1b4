//! A real node with real receivers over loopback sockets: what it promises, and what went wrong
//! elsewhere. Nothing waits for time; every test waits for what it is about.

mod endings;
mod fixture;
mod journey;
mod metrics;
#[path = "../shared/mod.rs"]
mod shared;
mod spied;
mod throughput;
#[cfg(feature = "otel")]
mod traces;
mod trouble;

//! A real node with real receivers over loopback sockets: what it promises, and what went wrong
//! elsewhere. Nothing waits for time; every test waits for what it is about.

mod endings;
mod figures;
#[path = "../goods/mod.rs"]
mod goods;
mod journey;
mod scene;
mod spied;
mod throughput;
#[cfg(feature = "otel")]
mod traces;
mod trouble;

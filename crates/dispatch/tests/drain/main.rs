//! A whole dispatcher behind a socket, as `stagger serve` runs it, shuts down. One test in a
//! process, because a process has one set of metrics.

#[path = "../shared/mod.rs"]
mod shared;
mod stopping;

//! Several nodes on one store, with real receivers over loopback sockets. Nothing waits for time; every
//! test waits for what it is about, within a bound.

mod budgets;
mod ends;
mod fleet;
#[path = "../shared/mod.rs"]
mod shared;
mod sharing;

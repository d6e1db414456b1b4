//! Several nodes on one store, with real receivers over loopback sockets. No test sleeps; each
//! waits for its event, within a bound.

mod ends;
mod fleet;
mod nodes;
mod operator_events;
#[path = "../shared/mod.rs"]
mod shared;
mod sharing;

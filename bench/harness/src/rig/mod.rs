//! The harness of chores that observe the dispatcher from outside: the release binary, a connection
//! to it, a fast receiver, its own folder. Lean, because it shares the machine with the measured
//! processes.

mod cable;
mod connection;
mod driver;
mod host;
mod process;
mod receiver;
mod stores;

pub(crate) use cable::Cable;
pub(crate) use connection::{Connection, HttpRequest, dial_from};
pub(crate) use driver::{Driver, message};
pub(crate) use host::{
    ScratchFolder, cpu_ms, family_ms, median, quantile, run_here, run_optimised,
};
pub(crate) use process::{ADMIN_KEY, Process, build};
pub(crate) use receiver::{Arrival, Marker, Reaction, Receiver, Witness};
pub(crate) use stores::{
    Database, Home, Redis, SHARDS, Site, StopMode, StoreKind, connect, is_member, leads,
};

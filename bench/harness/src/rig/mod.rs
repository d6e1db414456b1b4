//! The harness of chores that observe the dispatcher from outside: the release binary, a connection
//! to it, a fast receiver, its own folder. Lean, because it shares the machine with the measured
//! processes.

mod cable;
mod connection;
mod database;
mod driver;
mod family;
mod here;
mod home;
mod leads;
mod marker;
mod process;
mod receiver;
mod redis;
mod scratch;
mod signal;
mod spread;

pub(crate) use cable::Cable;
pub(crate) use connection::{Connection, HttpRequest};
pub(crate) use database::{Database, StopMode, connect};
pub(crate) use driver::{Driver, message};
pub(crate) use family::family_ms;
pub(crate) use here::{run_here, run_optimised};
pub(crate) use home::{Home, Site, StoreKind};
pub(crate) use leads::{SHARDS, leads};
pub(crate) use marker::Marker;
pub(crate) use process::{Process, build};
pub(crate) use receiver::{Arrival, Reaction, Receiver, Witness};
pub(crate) use redis::Redis;
pub(crate) use scratch::ScratchFolder;
pub(crate) use spread::{median, quantile};

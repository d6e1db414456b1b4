#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod config;
mod destination;
mod edge;
mod forward;
mod ops;
mod server;
pub mod stats;
mod trace;

pub use destination::{DestinationLedger, MakeLedger, fleet_ledgers};
pub use server::{Proxy, ProxyError, ProxyHandle};

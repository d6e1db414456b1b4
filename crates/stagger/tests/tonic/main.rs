//! Calls of tonic's client, through its own transport to servers on the loopback.
#![cfg(all(feature = "tokio", feature = "tonic"))]

mod client;
mod details;
mod faults;
mod hedging;
mod inbound;
mod limits;
#[cfg(feature = "metrics")]
mod metrics;
mod plain;
mod replies;
mod requests;
mod server;
mod servers;
#[cfg(feature = "metrics")]
#[path = "../support/mod.rs"]
mod support;
mod vectors;

use std::error::Error as StdError;

/// The result of a test.
type Done = Result<(), Box<dyn StdError + Send + Sync>>;

//! Calls of tonic's client, through its own transport to servers on the loopback.
#![cfg(all(feature = "tokio", feature = "tonic"))]

mod client;
mod faults;
mod hedging;
mod limits;
mod replies;
mod requests;
mod server;
mod servers;
mod vectors;

use std::error::Error as StdError;

/// The result of a test.
type Done = Result<(), Box<dyn StdError + Send + Sync>>;

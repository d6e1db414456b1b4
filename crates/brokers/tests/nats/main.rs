//! NATS as a destination and as a source, against a real server. Without the program `nats-server` the tests are skipped
//! with a note.
#![cfg(feature = "nats")]

mod accounts;
mod certificates;
mod destination;
mod guard;
mod jwt;
mod server;
#[path = "../shared/mod.rs"]
mod shared;
mod source;

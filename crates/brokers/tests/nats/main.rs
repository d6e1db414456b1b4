//! NATS as a destination and as a source, against a real server. Without the program `nats-server` the tests are skipped
//! with a note.
#![cfg(feature = "nats")]

mod destination;
mod guard;
mod server;
#[path = "../shared/mod.rs"]
mod shared;
mod source;

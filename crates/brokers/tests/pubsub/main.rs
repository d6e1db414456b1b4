//! Pub/Sub as a destination and as a source. A server with written answers takes the requests, and the
//! tests compare these with the reference of the interface:
//! <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics/publish>
//! Google's emulator takes them too, where it is installed: no registry has it.
#![cfg(feature = "pubsub")]

mod destination;
mod emulator;
#[path = "../shared/mod.rs"]
mod shared;
mod source;

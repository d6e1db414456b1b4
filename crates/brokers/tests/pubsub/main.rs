//! Pub/Sub as a destination and as a source. No emulator of it can be installed from a registry, so a server with written
//! answers takes the requests, and the tests compare these with the reference of the interface:
//! <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics/publish>
#![cfg(feature = "pubsub")]

mod destination;
#[path = "../shared/mod.rs"]
mod shared;
mod source;

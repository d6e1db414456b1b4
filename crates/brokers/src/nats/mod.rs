//! NATS: subjects as destinations, and consumers of JetStream as sources.
//!
//! The protocol is written here, and not by a client library: those dial servers by themselves, also servers that a server
//! advertises, past the egress guard.

mod connection;
mod credentials;
mod destination;
mod nkey;
mod source;
mod subject;
mod wire;

pub(crate) use destination::NatsPublisher;
pub use source::{NatsSource, NatsSourceSettings};

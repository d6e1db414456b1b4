//! Kafka: topics as destinations, and consumer groups as sources.
//!
//! The protocol is written here. Client libraries dial the brokers that a broker names by themselves, past the egress guard; and
//! the crate with all messages of the protocol reserves memory for every length that an answer claims.

mod assignor;
mod brokers;
mod compression;
mod connection;
mod crc32c;
mod credentials;
mod destination;
mod error_code;
mod fetcher;
mod group;
mod partitioner;
mod producer;
mod progress;
mod record_batch;
mod scram;
mod source;
mod wire;

pub(crate) use destination::KafkaPublisher;
pub use fetcher::KafkaStart;
pub use source::{KafkaSource, KafkaSourceSettings};

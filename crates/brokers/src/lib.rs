#![doc = include_str!("../README.md")]
//!
//! [`Brokers`] prepares the destinations of endpoints, and a [`Source`] brings messages in. Both reach their broker through
//! [`stagger_sender::GuardedNetwork`] only: it resolves names, judges every address by the egress guard, uses the egress proxy, and
//! trusts its certificates. No library of a broker dials by itself.
#![forbid(unsafe_code)]

mod brokers;
#[cfg(any(feature = "kafka", feature = "nats"))]
mod idle;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "pubsub")]
mod pubsub;
#[cfg(any(feature = "kafka", feature = "nats"))]
mod refusal;
mod source;
#[cfg(feature = "sqs")]
mod sqs;
#[cfg(any(feature = "kafka", feature = "nats"))]
mod stream;

pub use brokers::Brokers;
#[cfg(feature = "kafka")]
pub use kafka::{KafkaSource, KafkaSourceSettings, KafkaStart};
#[cfg(feature = "nats")]
pub use nats::{NatsSource, NatsSourceSettings};
#[cfg(feature = "pubsub")]
pub use pubsub::{PubSubSource, PubSubSourceSettings};
pub use source::{AckId, BrokerMessage, Disposition, Source, SourceFailure};
#[cfg(feature = "sqs")]
pub use sqs::{AwsCredentials, SqsSource, SqsSourceSettings};

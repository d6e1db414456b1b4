//! Kafka as a destination and as a source, against the brokers that librdkafka brings for its own tests, and beside its client.
//! The tests are skipped with a note without the folder that `STAGGER_TEST_CLIENTS` names, which `scripts/clients` fills.
//! Those brokers know no credentials: that part of the protocol is scripted.
#![cfg(feature = "kafka")]

mod cluster;
mod destination;
mod guard;
mod sasl;
#[path = "../shared/mod.rs"]
mod shared;
mod source;

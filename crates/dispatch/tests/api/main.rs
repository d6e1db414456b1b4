//! The API as a client sees it: a real node with a store in memory, behind a real socket.

mod api_keys;
mod authentication;
mod clients;
mod cloud_events;
#[cfg(all(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
mod destinations;
mod document;
mod event_types;
mod export;
mod labels;
mod limits;
mod messages;
mod random;
mod retries;
mod roles;
mod server;
mod settings;
mod subscriptions;

//! The API as a client sees it: a real node with a store in memory, behind a real socket.

mod authentication;
#[cfg(all(feature = "nats", feature = "pubsub", feature = "sqs"))]
mod destinations;
mod document;
mod labels;
mod limits;
mod messages;
mod random;
mod retries;
mod roles;
mod server;
mod settings;
mod subscriptions;

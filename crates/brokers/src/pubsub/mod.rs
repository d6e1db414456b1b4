//! Google Cloud Pub/Sub over HTTP, and servers with its interface.
//!
//! <https://cloud.google.com/pubsub/docs/reference/rest>

mod client;
mod destination;
mod source;

pub(crate) use destination::PubSubPublisher;
pub use source::{PubSubSource, PubSubSourceSettings};

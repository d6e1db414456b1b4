//! Destinations of an endpoint other than a receiver of HTTP requests: brokers, and how messages are published to them.

use serde::{Deserialize, Serialize};

/// The broker of an endpoint. Its address is the endpoint's `url`, and its credentials are the endpoint's `auth`.
///
/// In subjects, keys and groups `{message.id}` and `{event.type}` are filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum EndpointDestination {
    /// A NATS server.
    Nats(NatsDestination),
    /// A queue of Amazon SQS, or of a server with its interface.
    Sqs(SqsDestination),
    /// A topic of Google Cloud Pub/Sub, or of a server with its interface.
    PubSub(PubSubDestination),
}

impl EndpointDestination {
    /// The name of its kind in the API.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Nats(_) => "nats",
            Self::Sqs(_) => "sqs",
            Self::PubSub(_) => "pubsub",
        }
    }
}

/// A subject of a NATS server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NatsDestination {
    /// The subject that is published to.
    pub subject: String,
    /// Whether a stream of JetStream has to confirm the message. Otherwise only the server does, and the message is lost
    /// where nobody listens.
    pub jetstream: bool,
    /// The name of the stream that has to take it, if only one may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// A queue of Amazon SQS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqsDestination {
    /// The region that signatures name.
    pub region: String,
    /// The message group, for a queue that keeps the order (FIFO).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A topic of Google Cloud Pub/Sub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PubSubDestination {
    /// The ordering key, for subscriptions that keep the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering_key: Option<String>,
}

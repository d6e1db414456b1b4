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
    /// A topic of Apache Kafka, or of a server with its protocol.
    Kafka(KafkaDestination),
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
            Self::Kafka(_) => "kafka",
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

/// A topic of Apache Kafka.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KafkaDestination {
    /// The topic that is published to.
    pub topic: String,
    /// The key of messages, which decides their partition. Without one they go to the partitions in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The SASL mechanism for a name and a password: default [`KafkaSasl::Plain`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sasl: Option<KafkaSasl>,
}

/// The SASL mechanism by which a broker of Kafka checks a name and a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KafkaSasl {
    /// The password is sent: for connections with TLS.
    #[default]
    #[serde(rename = "plain")]
    Plain,
    /// The password is proved, and not sent (RFC 7677).
    #[serde(rename = "scram-sha-256")]
    ScramSha256,
    /// The same with SHA-512.
    #[serde(rename = "scram-sha-512")]
    ScramSha512,
}

impl KafkaSasl {
    /// Its name in the registry of SASL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
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

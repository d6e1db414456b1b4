//! The destination of an endpoint in JSON: the broker at its `url`, and how messages are published to it.

use serde::{Deserialize, Serialize};
use stagger_scheduler::model::{
    EndpointDestination, KafkaDestination, KafkaSasl, NatsDestination, PubSubDestination,
    SqsDestination,
};
use utoipa::ToSchema;

/// A broker that gets the messages instead of a receiver of HTTP requests: it is at `url`, and `auth` has its credentials.
/// In subjects, keys and groups `{message.id}` and `{event.type}` are filled in. An operator sets it; a key of the
/// application may if the setting `tenant_destinations` says so.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
#[schema(as = Destination)]
pub(super) enum DestinationSettings {
    /// NATS: `url` is `nats://host:4222`, or `tls://host:4222` with TLS.
    Nats {
        /// The subject that is published to.
        #[schema(min_length = 1, max_length = 255, example = "events.{event.type}")]
        subject: String,
        /// Whether a stream of JetStream has to confirm the message: default `true`. Otherwise only the server does, and the
        /// message is lost where nobody listens.
        #[serde(default)]
        jetstream: Option<bool>,
        /// The name of the stream that has to take it, if only one may.
        #[serde(default)]
        #[schema(max_length = 255)]
        stream: Option<String>,
    },
    /// Apache Kafka: `url` is `kafka://host:9092`, or `kafka+ssl://host:9093` with TLS, of one broker, which names the others.
    Kafka {
        /// The topic that is published to.
        #[schema(min_length = 1, max_length = 249, example = "events.{event.type}")]
        topic: String,
        /// The key, which decides the partition as in the clients for Java: default none, and the partitions in turn.
        #[serde(default)]
        #[schema(min_length = 1, max_length = 1024, example = "{event.type}")]
        key: Option<String>,
        /// The SASL mechanism for `auth` of the type `basic`: default `plain`.
        #[serde(default)]
        sasl: Option<SaslMechanism>,
    },
    /// Amazon SQS: `url` is that of the queue.
    Sqs {
        /// The region that signatures name.
        #[schema(min_length = 1, max_length = 64, example = "eu-central-1")]
        region: String,
        /// The message group, for a queue that keeps the order (FIFO).
        #[serde(default)]
        #[schema(max_length = 128)]
        group: Option<String>,
    },
    /// Google Cloud Pub/Sub: `url` ends with `/projects/PROJECT/topics/TOPIC:publish`.
    PubSub {
        /// The ordering key, for subscriptions that keep the order.
        #[serde(default)]
        #[schema(max_length = 1024)]
        ordering_key: Option<String>,
    },
}

/// The SASL mechanism by which a broker of Kafka checks a name and a password. With `plain` the password is sent; with
/// the others it is proved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = KafkaSasl)]
pub(super) enum SaslMechanism {
    #[serde(rename = "plain")]
    Plain,
    #[serde(rename = "scram-sha-256")]
    ScramSha256,
    #[serde(rename = "scram-sha-512")]
    ScramSha512,
}

impl SaslMechanism {
    const fn of(sasl: KafkaSasl) -> Self {
        match sasl {
            KafkaSasl::Plain => Self::Plain,
            KafkaSasl::ScramSha256 => Self::ScramSha256,
            KafkaSasl::ScramSha512 => Self::ScramSha512,
        }
    }

    const fn into_sasl(self) -> KafkaSasl {
        match self {
            Self::Plain => KafkaSasl::Plain,
            Self::ScramSha256 => KafkaSasl::ScramSha256,
            Self::ScramSha512 => KafkaSasl::ScramSha512,
        }
    }
}

impl DestinationSettings {
    /// The settings that `destination` has.
    pub(super) fn of(destination: &EndpointDestination) -> Self {
        match destination.clone() {
            EndpointDestination::Nats(NatsDestination { subject, jetstream, stream }) => {
                Self::Nats { subject, jetstream: Some(jetstream), stream }
            }
            EndpointDestination::Kafka(KafkaDestination { topic, key, sasl }) => {
                Self::Kafka { topic, key, sasl: sasl.map(SaslMechanism::of) }
            }
            EndpointDestination::Sqs(SqsDestination { region, group }) => {
                Self::Sqs { region, group }
            }
            EndpointDestination::PubSub(PubSubDestination { ordering_key }) => {
                Self::PubSub { ordering_key }
            }
        }
    }

    /// The destination, not checked yet.
    pub(super) fn into_destination(self) -> EndpointDestination {
        match self {
            Self::Nats { subject, jetstream, stream } => {
                let jetstream = jetstream.unwrap_or(true);
                EndpointDestination::Nats(NatsDestination { subject, jetstream, stream })
            }
            Self::Kafka { topic, key, sasl } => {
                let sasl = sasl.map(SaslMechanism::into_sasl);
                EndpointDestination::Kafka(KafkaDestination { topic, key, sasl })
            }
            Self::Sqs { region, group } => {
                EndpointDestination::Sqs(SqsDestination { region, group })
            }
            Self::PubSub { ordering_key } => {
                EndpointDestination::PubSub(PubSubDestination { ordering_key })
            }
        }
    }
}

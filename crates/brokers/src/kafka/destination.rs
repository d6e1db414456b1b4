//! A topic of Kafka as a destination.

use async_trait::async_trait;
use serde_json::json;
use stagger::{ConfigError, StdTime};
use stagger_scheduler::model::{AttemptFailure, Endpoint, KafkaDestination};
use stagger_sender::{
    BrokerDestination, DestinationReply, GuardedNetwork, Outgoing, SendFailure, Written,
};

use super::brokers::{KafkaBrokers, first_broker, is_topic};
use super::credentials::KafkaCredentials;
use super::producer::Producer;
use super::record_batch::NewRecord;
use crate::refusal::BrokerRefusal;

/// Longest key, in bytes.
const MAX_KEY: usize = 1024;

/// One topic, or one for each type, of one cluster.
#[derive(Debug)]
pub(crate) struct KafkaPublisher {
    settings: KafkaDestination,
    producer: Producer,
}

impl KafkaPublisher {
    /// # Errors
    /// `destination`, `endpoint.url` or `auth` with the bound it breaks.
    pub(crate) fn new(
        network: &GuardedNetwork,
        endpoint: &Endpoint,
        settings: &KafkaDestination,
    ) -> Result<Self, ConfigError> {
        let sample = settings.topic.replace("{event.type}", "a.b").replace("{message.id}", "a");
        if !is_topic(&sample) {
            let bound =
                "1 to 249 letters, digits, full stops, - and _, such as events.{event.type}";
            return Err(ConfigError::new("destination.topic", &settings.topic, bound));
        }
        if let Some(key) = settings.key.as_ref().filter(|it| it.is_empty() || it.len() > MAX_KEY) {
            let first: String = key.chars().take(80).collect();
            return Err(ConfigError::new("destination.key", first, "1 to 1024 bytes"));
        }
        let first = first_broker(network, endpoint)?;
        let credentials = KafkaCredentials::new(endpoint.auth.as_ref(), settings.sasl)?;
        let producer = Producer::new(KafkaBrokers::new(first, credentials));
        Ok(Self { settings: settings.clone(), producer })
    }

    async fn publish(
        &self,
        network: &GuardedNetwork,
        outgoing: &Outgoing<'_>,
        written: &Written,
    ) -> Result<DestinationReply, BrokerRefusal> {
        let topic = outgoing.fill(&self.settings.topic);
        if !is_topic(&topic) {
            let detail = format!("{topic} is no topic that can be published to");
            return Err(SendFailure::new(AttemptFailure::Unbuildable, detail).into());
        }
        let key = self.settings.key.as_deref().map(|key| outgoing.fill(key));
        let headers = outgoing.headers()?;
        let record = NewRecord {
            timestamp: milliseconds(),
            key: key.as_deref().map(str::as_bytes),
            value: outgoing.payload(),
            headers: &headers,
        };
        let by = (network, outgoing.application());
        let place = self.producer.publish(by, &topic, &record, || written.begin()).await?;
        let reply = json!({ "topic": topic, "partition": place.partition, "offset": place.offset });
        Ok(DestinationReply::taken(reply.to_string()))
    }
}

#[async_trait]
impl BrokerDestination for KafkaPublisher {
    fn check(&self, network: &GuardedNetwork) -> Result<(), ConfigError> {
        network.check_broker(self.producer.cluster().first())
    }

    async fn attempt(
        &self,
        network: &GuardedNetwork,
        outgoing: &Outgoing<'_>,
        written: &Written,
    ) -> Result<DestinationReply, SendFailure> {
        self.publish(network, outgoing, written).await.or_else(BrokerRefusal::into_reply)
    }
}

/// The time in milliseconds since 1970.
pub(super) fn milliseconds() -> i64 {
    let since = StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or_default()
}

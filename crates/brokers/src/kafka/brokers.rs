//! A cluster of brokers: where to begin, where its brokers are, and who leads a partition.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use stagger::ConfigError;
use stagger_scheduler::model::{ApplicationId, AttemptFailure, Endpoint};
use stagger_sender::{BrokerAddress, GuardedNetwork, SendFailure};

use super::connection::{KafkaConnection, PORTS, SCHEMES};
use super::credentials::KafkaCredentials;
use super::wire::{KafkaReader, KafkaRequest, KafkaWriter, NotKafka};
use crate::refusal::BrokerRefusal;

/// Most brokers that are remembered: those of large clusters, and an end for a list that is made up.
const MAX_BROKERS: usize = 1000;

/// The brokers that one address leads to.
#[derive(Debug)]
pub(super) struct KafkaBrokers {
    first: BrokerAddress,
    credentials: KafkaCredentials,
    /// The brokers that the last answer named: places to begin while the first one is down.
    known: Mutex<Vec<BrokerAddress>>,
}

/// The brokers and topics of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Metadata {
    brokers: BTreeMap<i32, (String, i32)>,
    pub(super) topics: Vec<TopicMetadata>,
}

/// A topic of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TopicMetadata {
    pub(super) error: i16,
    pub(super) name: String,
    /// The leader of each partition by the partition's number: -1 while there is none.
    pub(super) leaders: BTreeMap<i32, i32>,
}

impl KafkaBrokers {
    pub(super) fn new(first: BrokerAddress, credentials: KafkaCredentials) -> Self {
        Self { first, credentials, known: Mutex::default() }
    }

    /// The address that the settings name.
    pub(super) const fn first(&self) -> &BrokerAddress {
        &self.first
    }

    /// The credentials for all of its brokers.
    pub(super) const fn credentials(&self) -> &KafkaCredentials {
        &self.credentials
    }

    /// Connects to the broker of the settings, or while it is down to one that was named before.
    ///
    /// # Errors
    /// None of them answers: the failure of the first.
    pub(super) async fn connect(
        &self,
        network: &GuardedNetwork,
        of: ApplicationId,
    ) -> Result<KafkaConnection, BrokerRefusal> {
        let failure = match self.connect_to(network, (&self.first, of)).await {
            Ok(connection) => return Ok(connection),
            Err(failure) => failure,
        };
        if !matches!(&failure, BrokerRefusal::Failed(it) if it.failure() == AttemptFailure::Connect)
        {
            return Err(failure);
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for address in known.iter().filter(|it| it.origin() != self.first.origin()) {
            if let Ok(connection) = self.connect_to(network, (address, of)).await {
                return Ok(connection);
            }
        }
        Err(failure)
    }

    /// Connects to one broker. The guard judges its address, whoever has named it.
    ///
    /// # Errors
    /// No connection; the broker refuses the credentials.
    pub(super) async fn connect_to(
        &self,
        network: &GuardedNetwork,
        to: (&BrokerAddress, ApplicationId),
    ) -> Result<KafkaConnection, BrokerRefusal> {
        self.credentials.open(network, to).await
    }

    /// Asks for the leaders of topics, which are not made if they are not there.
    ///
    /// # Errors
    /// The connection fails.
    pub(super) async fn metadata(
        &self,
        network: &GuardedNetwork,
        connection: &mut KafkaConnection,
        topics: &[&str],
    ) -> Result<Metadata, BrokerRefusal> {
        let mut body = KafkaWriter::default();
        body.list(topics.iter(), |body, topic| _ = body.text(topic)).i8(0);
        let mut answer = connection.call(KafkaRequest::Metadata, &body).await?;
        let metadata = Metadata::read(&mut answer)?;
        let addresses = metadata.brokers.values().take(MAX_BROKERS);
        let known = addresses.filter_map(|(host, port)| self.peer(network, host, *port).ok());
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known.collect();
        Ok(metadata)
    }

    /// The address of a broker of the cluster.
    ///
    /// # Errors
    /// The answer does not name it, or names what cannot be an address.
    pub(super) fn broker(
        &self,
        network: &GuardedNetwork,
        metadata: &Metadata,
        id: i32,
    ) -> Result<BrokerAddress, BrokerRefusal> {
        let found = metadata.brokers.get(&id);
        let (host, port) =
            found.ok_or_else(|| BrokerRefusal::new(503, format!("broker {id} is not known")))?;
        Ok(self.peer(network, host, *port)?)
    }

    /// The address that a broker has named.
    ///
    /// # Errors
    /// It cannot be an address, or its port is closed.
    pub(super) fn peer(
        &self,
        network: &GuardedNetwork,
        host: &str,
        port: i32,
    ) -> Result<BrokerAddress, SendFailure> {
        let port = u16::try_from(port).unwrap_or_default();
        network.broker_peer(&self.first, (host, port), PORTS)
    }
}

impl Metadata {
    fn read(answer: &mut KafkaReader) -> Result<Self, NotKafka> {
        let _throttle = answer.i32()?;
        let brokers = answer.list(|it| {
            let broker = (it.i32()?, (it.text()?, it.i32()?));
            it.nullable_text()?;
            Ok(broker)
        })?;
        let _cluster = answer.nullable_text()?;
        let _controller = answer.i32()?;
        let topics = answer.list(|it| {
            let (error, name, _internal) = (it.i16()?, it.text()?, it.i8()?);
            let leaders = it.list(|it| {
                let (_error, index, leader) = (it.i16()?, it.i32()?, it.i32()?);
                let _replicas = (it.list(KafkaReader::i32)?, it.list(KafkaReader::i32)?);
                Ok((index, leader))
            })?;
            Ok(TopicMetadata { error, name, leaders: leaders.into_iter().collect() })
        })?;
        Ok(Self { brokers: brokers.into_iter().collect(), topics })
    }

    /// The topic with this name.
    pub(super) fn topic(&self, name: &str) -> Option<&TopicMetadata> {
        self.topics.iter().find(|it| it.name == name)
    }
}

/// The address of the broker to begin with.
///
/// # Errors
/// `endpoint.url` or `auth` with the bound it breaks.
pub(super) fn first_broker(
    network: &GuardedNetwork,
    endpoint: &Endpoint,
) -> Result<BrokerAddress, ConfigError> {
    if endpoint.url.contains(',') {
        let bound = "one broker, which names the others";
        return Err(ConfigError::new("endpoint.url", endpoint.url.escape_debug(), bound));
    }
    network.broker_address(endpoint, SCHEMES, PORTS)
}

/// Whether a topic can have this name (`org.apache.kafka.common.internals.Topic`).
pub(super) fn is_topic(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=249).contains(&name.len()) && !matches!(name, "." | "..") && name.bytes().all(is_legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_topic_can_have_is_refused() {
        let long = "a".repeat(250);
        for name in ["a", "events.invoice.paid", "A-b_c", &long[..249]] {
            assert!(is_topic(name), "{name}");
        }
        for name in ["", ".", "..", "a b", "a/b", "ä", &long] {
            assert!(!is_topic(name), "{name}");
        }
    }
}

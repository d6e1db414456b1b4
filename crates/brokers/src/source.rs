//! Sources: messages of a broker on their way into the dispatcher.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
#[cfg(any(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
use stagger::Instant;
#[cfg(any(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
use stagger_scheduler::model::{ApplicationId, Endpoint, EndpointAuth, EndpointId};

/// One consumer of a broker's messages.
///
/// A message stays the broker's until it is settled: one that is never settled comes again, also after a crash.
#[async_trait]
pub trait Source: fmt::Debug + Send {
    /// Waits for messages, for some seconds at most; none is no failure. Connects where it has to.
    ///
    /// # Errors
    /// The broker cannot be reached, or refuses. The next call connects again.
    async fn receive(&mut self) -> Result<Vec<BrokerMessage>, SourceFailure>;

    /// Tells the broker what became of a message.
    ///
    /// # Errors
    /// The broker cannot be reached. The message comes again, which its id tells.
    async fn settle(&mut self, ack_id: AckId, fate: Disposition) -> Result<(), SourceFailure>;

    /// Tells the broker that this consumer ends, so that others need not wait until it is missed.
    async fn close(&mut self) {}
}

/// A message of a broker.
#[derive(Clone, Debug)]
pub struct BrokerMessage {
    /// The id under which the broker delivers it again.
    pub id: String,
    /// Its headers or attributes.
    pub headers: Vec<(String, String)>,
    /// Its bytes.
    pub payload: Bytes,
    /// The name by which it is settled.
    pub ack_id: AckId,
}

impl BrokerMessage {
    /// The value of a header, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The name by which the broker knows one delivery of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckId(String);

impl AckId {
    /// The ack_id with this text, which only its broker understands.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The result for a message, which its broker is told.
#[derive(Clone, Debug)]
pub enum Disposition {
    /// It is on disk: the broker may forget it.
    Accepted,
    /// It can never be accepted, for this reason: it goes to the dead letters.
    Poison(String, Box<BrokerMessage>),
    /// It cannot be accepted now: it comes again.
    Later,
}

/// A broker that cannot be consumed from now.
#[derive(Debug)]
pub struct SourceFailure(String);

impl SourceFailure {
    /// A failure with its reason.
    #[must_use]
    pub fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for SourceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SourceFailure {}

/// The application of sources: they belong to the operator, and to none.
#[cfg(any(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
pub(crate) fn no_application() -> ApplicationId {
    ApplicationId::from_uuid(uuid::Uuid::nil())
}

/// The address of a source, as an endpoint that is no application's.
#[cfg(any(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
pub(crate) fn operators_endpoint(url: &str, auth: Option<EndpointAuth>) -> Endpoint {
    let id = EndpointId::from_uuid(uuid::Uuid::nil());
    Endpoint { auth, ..Endpoint::new(id, no_application(), url, Instant::ORIGIN) }
}

/// The reason of a poison message, as a header of its dead letter: one line of at most 200 characters.
#[cfg(any(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
pub(crate) fn reason(why: &str) -> String {
    why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

//! Destinations other than receivers of HTTP requests: one delivery attempt at a broker.

use std::fmt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use bytes::Bytes;
use stagger::{ConfigError, Hint, Span, StdTime};
use stagger_scheduler::model::{
    ApplicationId, AttemptAnswer, AttemptFailure, Endpoint, EndpointDestination, HeaderTemplate,
    Message, REPLY_LIMIT, TraceContext,
};

use crate::header;
use crate::network::GuardedNetwork;
use crate::send_failure::{SendFailure, bounded};
use crate::signer::Signer;
use crate::written::Written;

/// One broker as the destination of one endpoint, prepared for many attempts.
///
/// An attempt reaches the broker through the [`GuardedNetwork`] only, so that the egress guard judges every address, also one that
/// the broker names itself.
#[async_trait]
pub trait BrokerDestination: fmt::Debug + Send + Sync {
    /// Checks the address before it is saved: a literal one that the egress guard refuses.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    fn check(&self, network: &GuardedNetwork) -> Result<(), ConfigError>;

    /// Makes one attempt: publishes the message, and waits until the broker has taken it. It is dropped when the time of the
    /// attempt is over. [`Written::begin`] is called before the first byte that may publish the message.
    ///
    /// # Errors
    /// There is no answer of the broker, or the message cannot be published at all.
    async fn attempt(
        &self,
        network: &GuardedNetwork,
        outgoing: &Outgoing<'_>,
        written: &Written,
    ) -> Result<DestinationReply, SendFailure>;
}

/// The brokers that a program can publish to.
pub trait Destinations: fmt::Debug + Send + Sync {
    /// Reads the settings of an endpoint once, for many attempts.
    ///
    /// # Errors
    /// A setting with the bound it breaks; a kind of broker that the program was built without.
    fn prepare(
        &self,
        network: &GuardedNetwork,
        endpoint: &Endpoint,
        destination: &EndpointDestination,
    ) -> Result<Arc<dyn BrokerDestination>, ConfigError>;
}

/// The answer of a broker, in the words of HTTP: a status decides what follows, as for a receiver of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationReply {
    /// 200 if the broker has taken the message; 429 or 503 if it asks for a pause; any other is a failure to be retried.
    pub status: u16,
    /// A description of a failure.
    pub detail: Option<String>,
    /// The time for which the broker asks not to be called.
    pub hint: Option<Hint>,
    /// The answer as it came, of which the first 1024 bytes are kept.
    pub reply: Bytes,
}

impl DestinationReply {
    /// The broker has taken the message, and answered so.
    #[must_use]
    pub fn taken(reply: impl Into<Bytes>) -> Self {
        Self { status: 200, detail: None, hint: None, reply: reply.into() }
    }

    /// The broker refuses the message for now.
    #[must_use]
    pub fn refused(status: u16, detail: impl AsRef<str>) -> Self {
        Self { status, detail: Some(bounded(detail.as_ref())), hint: None, reply: Bytes::new() }
    }

    pub(crate) fn into_answer(self, latency: Span) -> AttemptAnswer {
        let Self { status, detail, hint, reply } = self;
        let reply = reply.slice(..reply.len().min(REPLY_LIMIT));
        AttemptAnswer {
            result: Ok(status),
            detail,
            hint,
            reply,
            latency,
            written: true,
            handshake: None,
        }
    }
}

/// A message on its way to a broker, in one attempt.
#[derive(Debug)]
pub struct Outgoing<'m> {
    message: &'m Message,
    payload: Bytes,
    number: u32,
    trace: Option<&'m TraceContext>,
    publisher: &'m Publisher,
}

impl Outgoing<'_> {
    /// The message.
    #[must_use]
    pub const fn message(&self) -> &Message {
        self.message
    }

    /// The bytes to publish, exactly.
    #[must_use]
    pub const fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The application that owns the endpoint, for its share of what all attempts use.
    #[must_use]
    pub const fn application(&self) -> ApplicationId {
        self.message.application
    }

    /// A text in which `{message.id}` and `{event.type}` are filled in.
    #[must_use]
    pub fn fill(&self, template: &str) -> String {
        let id = self.message.id.to_string();
        template
            .replace("{message.id}", &id)
            .replace("{event.type}", self.message.event_type.as_str())
    }

    /// The headers that go with the message, signed now: those of Standard Webhooks, `content-type`,
    /// `stagger-attempt`, `stagger-event-type`, the trace, and the endpoint's own; names in lower case, and values.
    ///
    /// # Errors
    /// A header of the endpoint cannot be sent; no secret signs any more.
    pub fn headers(&self) -> Result<Vec<(String, String)>, SendFailure> {
        let unbuildable = |detail: String| SendFailure::new(AttemptFailure::Unbuildable, detail);
        let id = self.message.id.to_string();
        // Before 1970 no receiver would accept it anyway.
        let timestamp = StdTime::wall().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signature = self.publisher.signer.sign(&id, timestamp, &self.payload);
        if signature.is_empty() {
            return Err(unbuildable("no secret signs any more".to_owned()));
        }
        let mut headers = vec![
            ("webhook-id".to_owned(), id),
            ("webhook-timestamp".to_owned(), timestamp.to_string()),
            ("webhook-signature".to_owned(), signature),
            ("content-type".to_owned(), self.message.content_type.clone()),
            ("stagger-attempt".to_owned(), self.number.to_string()),
            ("stagger-event-type".to_owned(), self.message.event_type.to_string()),
        ];
        if let Some(trace) = self.trace {
            headers.push(("traceparent".to_owned(), trace.traceparent()));
            headers.extend(trace.tracestate().map(|it| ("tracestate".to_owned(), it.to_owned())));
        }
        for template in &self.publisher.templates {
            let value = header::fill(template, self.message, self.number)
                .map_err(|error| unbuildable(error.to_string()))?;
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers.push((template.name.clone(), value));
        }
        Ok(headers)
    }
}

/// An endpoint whose messages a broker gets.
#[derive(Debug)]
pub(crate) struct Publisher {
    pub(crate) destination: Arc<dyn BrokerDestination>,
    signer: Signer,
    templates: Vec<HeaderTemplate>,
}

impl Publisher {
    /// # Errors
    /// A secret of the endpoint cannot sign.
    pub(crate) fn new(
        endpoint: &Endpoint,
        destination: Arc<dyn BrokerDestination>,
    ) -> Result<Self, ConfigError> {
        let (signer, templates) = (Signer::new(&endpoint.secrets)?, endpoint.headers.clone());
        Ok(Self { destination, signer, templates })
    }

    pub(crate) fn outgoing<'m>(
        &'m self,
        (message, payload): (&'m Message, Bytes),
        (number, trace): (u32, Option<&'m TraceContext>),
    ) -> Outgoing<'m> {
        Outgoing { message, payload, number, trace, publisher: self }
    }
}

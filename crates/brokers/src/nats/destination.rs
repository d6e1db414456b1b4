//! A subject of a NATS server as a destination.

use async_trait::async_trait;
use serde::Deserialize;
use stagger::ConfigError;
use stagger_scheduler::model::{AttemptFailure, Endpoint, NatsDestination};
use stagger_sender::{
    BrokerAddress, BrokerDestination, DestinationReply, GuardedNetwork, Outgoing, SendFailure,
    Written,
};

use super::connection::{NatsConnection, PORTS, SCHEMES, head};
use super::credentials::NatsCredentials;
use super::subject::is_subject;
use crate::idle::IdleConnections;
use crate::refusal::BrokerRefusal;

/// One subject, or one for each type, of one server.
#[derive(Debug)]
pub(crate) struct NatsPublisher {
    settings: NatsDestination,
    address: BrokerAddress,
    credentials: NatsCredentials,
    idle: IdleConnections<NatsConnection>,
}

/// The answer of a stream (`io.nats.jetstream.api.v1.pub_ack_response`).
#[derive(Deserialize)]
struct PublishAck {
    #[serde(default)]
    error: Option<ApiError>,
    #[serde(default)]
    stream: Option<String>,
}

#[derive(Deserialize)]
struct ApiError {
    code: u16,
    #[serde(default)]
    description: String,
}

impl NatsPublisher {
    /// # Errors
    /// `destination`, `endpoint.url` or `auth` with the bound it breaks.
    pub(crate) fn new(
        network: &GuardedNetwork,
        endpoint: &Endpoint,
        settings: &NatsDestination,
    ) -> Result<Self, ConfigError> {
        let sample = settings.subject.replace("{event.type}", "a.b").replace("{message.id}", "a");
        if !is_subject(&sample) {
            let bound = "words with full stops between them, such as events.{event.type}, at most 255 bytes, and none of \
                         the server's own ($JS, _INBOX)";
            return Err(ConfigError::new("destination.subject", &settings.subject, bound));
        }
        if let Some(stream) =
            settings.stream.as_ref().filter(|it| !is_subject(it) || it.contains('.'))
        {
            let bound = "the name of a stream, without blanks and full stops";
            return Err(ConfigError::new("destination.stream", stream, bound));
        }
        let address = network.broker_address(endpoint, SCHEMES, PORTS)?;
        let credentials = NatsCredentials::new(endpoint.auth.as_ref())?;
        Ok(Self {
            settings: settings.clone(),
            address,
            credentials,
            idle: IdleConnections::default(),
        })
    }

    async fn connection(
        &self,
        network: &GuardedNetwork,
        outgoing: &Outgoing<'_>,
    ) -> Result<NatsConnection, BrokerRefusal> {
        while let Some(mut idle) = self.idle.take() {
            if idle.is_usable().await {
                return Ok(idle);
            }
        }
        let to = (&self.address, outgoing.application());
        NatsConnection::open(network, to, &self.credentials).await
    }

    async fn publish(
        &self,
        network: &GuardedNetwork,
        outgoing: &Outgoing<'_>,
        written: &Written,
    ) -> Result<DestinationReply, BrokerRefusal> {
        let subject = outgoing.fill(&self.settings.subject);
        if !is_subject(&subject) {
            let detail = format!("{subject} is no subject that can be published to");
            return Err(unbuildable(detail).into());
        }
        let mut connection = self.connection(network, outgoing).await?;
        let mut headers = outgoing.headers()?;
        headers.push(("Nats-Msg-Id".to_owned(), outgoing.message().id.to_string()));
        let stream = self.settings.stream.clone().filter(|_| self.settings.jetstream);
        headers.extend(stream.map(|stream| ("Nats-Expected-Stream".to_owned(), stream)));
        let size = head(&headers).len() + outgoing.payload().len();
        let most = connection.info().max_payload;
        if size > most {
            let detail =
                format!("{size} bytes with headers; the server takes at most {most} bytes");
            self.idle.put(connection);
            return Err(unbuildable(detail).into());
        }
        if !connection.info().headers {
            return Err(BrokerRefusal::new(400, "the server takes no headers"));
        }
        let reply = self.settings.jetstream.then(|| connection.reply_subject());
        written.begin()?;
        connection.publish((&subject, reply.as_deref()), &headers, outgoing.payload()).await?;
        let taken = match reply {
            Some(reply) => self.confirmed(&mut connection, &reply).await?,
            None => {
                connection.flush().await?;
                DestinationReply::taken("")
            }
        };
        self.idle.put(connection);
        Ok(taken)
    }

    async fn confirmed(
        &self,
        connection: &mut NatsConnection,
        reply: &str,
    ) -> Result<DestinationReply, BrokerRefusal> {
        let answer = connection.reply_to(reply).await?;
        if answer.status == Some(503) {
            return Err(BrokerRefusal::new(404, "no stream takes this subject"));
        }
        match serde_json::from_slice(&answer.payload) {
            Ok(PublishAck { error: Some(error), .. }) => {
                Err(BrokerRefusal::new(error.code, error.description))
            }
            Ok(PublishAck { stream: Some(_), .. }) => Ok(DestinationReply::taken(answer.payload)),
            _ => Err(BrokerRefusal::new(502, "the answer is not that of a stream")),
        }
    }
}

#[async_trait]
impl BrokerDestination for NatsPublisher {
    fn check(&self, network: &GuardedNetwork) -> Result<(), ConfigError> {
        network.check_broker(&self.address)
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

fn unbuildable(detail: String) -> SendFailure {
    SendFailure::new(AttemptFailure::Unbuildable, detail)
}

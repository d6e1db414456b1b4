//! A durable pull consumer of JetStream as a source.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use stagger::{ConfigError, Sleep, Span, TokioTime};
use stagger_scheduler::model::EndpointAuth;
use stagger_sender::{BrokerAddress, GuardedNetwork};

use super::connection::{NatsConnection, PORTS, SCHEMES};
use super::credentials::NatsCredentials;
use super::subject::is_subject;
use super::wire::NatsMessage;
use crate::refusal::{BrokerRefusal, within};
use crate::source::{
    AckId, BrokerMessage, Disposition, Source, SourceFailure, no_application, operators_endpoint,
    reason,
};

/// Messages of one round: enough for one commit of the store, and few enough that a node that dies delays few.
const BATCH: usize = 64;
/// The longest wait for the first message of a round.
const WAIT: Span = Span::from_secs(5);
/// The time for which the server collects more messages of a round after the first.
const REST: Span = Span::from_millis(20);
/// The time after the end of a question in which the server should say so.
const PATIENCE: Span = Span::from_millis(500);
/// The time after which the server delivers an unsettled message again, and the most unsettled ones of all nodes.
const ACK_WAIT: Span = Span::from_secs(60);
const MAX_ACK_PENDING: usize = 10_000;
/// The pause before a message that could not be accepted comes again.
const PAUSE: Span = Span::from_secs(5);
/// The longest time for one question to the server.
const ANSWER: Span = Span::from_secs(10);

/// The settings of a source.
#[derive(Clone, Debug)]
pub struct NatsSourceSettings {
    /// The address of the server: `nats://host:4222`, or `tls://host:4222`.
    pub url: String,
    /// The name of the stream.
    pub stream: String,
    /// The name of the durable consumer, which all nodes share. It is made if it is not there.
    pub consumer: String,
    /// The subject that the consumer is limited to when it is made: default all of the stream.
    pub subject: Option<String>,
    /// The subject that messages go to which can never be accepted. Without one they end where they are, with a log line.
    pub dead_letter: Option<String>,
    /// The credentials: `basic`, `bearer`, `nkey` or `mtls`.
    pub auth: Option<EndpointAuth>,
}

/// A consumer that all nodes with the same settings share.
#[derive(Debug)]
pub struct NatsSource {
    network: GuardedNetwork,
    settings: NatsSourceSettings,
    address: BrokerAddress,
    credentials: NatsCredentials,
    connection: Option<NatsConnection>,
}

#[derive(Deserialize)]
struct ApiAnswer {
    #[serde(default)]
    error: Option<ApiError>,
}

#[derive(Deserialize)]
struct ApiError {
    code: u16,
    #[serde(default)]
    description: String,
}

impl NatsSource {
    /// A source; it connects when it is asked for messages.
    ///
    /// # Errors
    /// A setting with the bound it breaks.
    pub fn new(network: GuardedNetwork, settings: NatsSourceSettings) -> Result<Self, ConfigError> {
        for (field, name) in
            [("source.stream", &settings.stream), ("source.consumer", &settings.consumer)]
        {
            if !is_subject(name) || name.contains('.') {
                return Err(ConfigError::new(field, name, "a name without blanks and full stops"));
            }
        }
        if let Some(dead) = settings.dead_letter.as_ref().filter(|it| !is_subject(it)) {
            let bound = "a subject, such as dead.orders";
            return Err(ConfigError::new("source.dead_letter", dead, bound));
        }
        let endpoint = operators_endpoint(&settings.url, settings.auth.clone());
        let address = network.broker_address(&endpoint, SCHEMES, PORTS)?;
        network.check_broker(&address)?;
        let credentials = NatsCredentials::new(settings.auth.as_ref())?;
        Ok(Self { network, settings, address, credentials, connection: None })
    }

    async fn open(&mut self) -> Result<NatsConnection, BrokerRefusal> {
        let to = (&self.address, no_application());
        let mut connection = NatsConnection::open(&self.network, to, &self.credentials).await?;
        let NatsSourceSettings { stream, consumer, subject, .. } = &self.settings;
        let known = format!("$JS.API.CONSUMER.INFO.{stream}.{consumer}");
        match read(&connection.request(&known, "").await?) {
            Err(BrokerRefusal::Answered { status: 404, .. }) => {}
            other => return other.map(|()| connection),
        }
        let mut config = json!({
            "durable_name": consumer, "ack_policy": "explicit", "deliver_policy": "all",
            "ack_wait": ACK_WAIT.as_nanos(), "max_ack_pending": MAX_ACK_PENDING,
        });
        if let (Some(config), Some(subject)) = (config.as_object_mut(), subject) {
            config.insert("filter_subject".to_owned(), json!(subject));
        }
        let body = json!({ "stream_name": stream, "config": config }).to_string();
        let make = format!("$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{consumer}");
        read(&connection.request(&make, &body).await?)?;
        Ok(connection)
    }

    async fn round(&mut self) -> Result<Vec<BrokerMessage>, BrokerRefusal> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => within(ANSWER, self.open()).await?,
        };
        // The server ends each question, so that none is open when the next one is asked.
        let first = json!({ "batch": 1, "expires": WAIT.as_nanos() });
        let mut arrivals = self.pull(&mut connection, first, 1).await?;
        if !arrivals.is_empty() {
            let rest = json!({ "batch": BATCH - 1, "expires": REST.as_nanos() });
            arrivals.extend(self.pull(&mut connection, rest, BATCH - 1).await?);
        }
        self.connection = Some(connection);
        Ok(arrivals)
    }

    /// The messages of one question: the server ends them with a status, unless there are as many as were asked for.
    async fn pull(
        &mut self,
        connection: &mut NatsConnection,
        question: serde_json::Value,
        batch: usize,
    ) -> Result<Vec<BrokerMessage>, BrokerRefusal> {
        let NatsSourceSettings { stream, consumer, .. } = &self.settings;
        let next = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
        let reply = connection.reply_subject();
        connection.publish((&next, Some(&reply)), &[], question.to_string().as_bytes()).await?;
        let mut arrivals = Vec::new();
        let mut came = 0;
        while came < batch {
            let message = tokio::select! {
                biased;
                message = connection.next_message() => message?,
                // NATS 2.9 ends a question without a word while a delayed message is due.
                () = TokioTime.sleep(WAIT + PATIENCE) => {
                    within(ANSWER, connection.flush()).await?;
                    break;
                }
            };
            match message.status {
                Some(_) if message.subject != reply => {}
                // No message within the time, or fewer than were asked for.
                Some(404 | 408) => break,
                Some(status) => {
                    let why = message.header("description").unwrap_or("no consumer answers");
                    return Err(BrokerRefusal::new(status, why));
                }
                None => {
                    came += 1;
                    arrivals.extend(arrival(message));
                }
            }
        }
        Ok(arrivals)
    }

    async fn tell(&mut self, ack_id: &AckId, fate: Disposition) -> Result<(), BrokerRefusal> {
        let Some(mut connection) = self.connection.take() else {
            return Err(BrokerRefusal::new(504, "the connection was lost"));
        };
        let answer = match fate {
            Disposition::Accepted => "+ACK".to_owned(),
            Disposition::Later => format!("-NAK {{\"delay\":{}}}", PAUSE.as_nanos()),
            Disposition::Poison(why, arrival) => {
                if let Some(dead) = &self.settings.dead_letter {
                    dead_letter(&mut connection, dead, (&why, &arrival)).await?;
                }
                "+TERM".to_owned()
            }
        };
        // The server confirms it, so that a message is not forgotten by this node and remembered by the other side.
        within(ANSWER, async { connection.request(ack_id.as_str(), &answer).await.map(|_| ()) })
            .await?;
        self.connection = Some(connection);
        Ok(())
    }
}

#[async_trait]
impl Source for NatsSource {
    async fn receive(&mut self) -> Result<Vec<BrokerMessage>, SourceFailure> {
        self.round().await.map_err(SourceFailure::new)
    }

    async fn settle(&mut self, ack_id: AckId, fate: Disposition) -> Result<(), SourceFailure> {
        self.tell(&ack_id, fate).await.map_err(SourceFailure::new)
    }
}

/// A message of a stream; nothing for one that nobody can settle.
///
/// Its reply subject is `$JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.<consumer sequence>...`, and since NATS
/// 2.9 may have a domain and an account after `$JS.ACK`.
fn arrival(message: NatsMessage) -> Option<BrokerMessage> {
    let reply = message.reply.clone()?;
    let words: Vec<&str> = reply.split('.').collect();
    let (stream, sequence) = match words.len() {
        9 => (words[2], words[5]),
        12.. => (words[4], words[7]),
        _ => return None,
    };
    let own = format!("{stream}:{sequence}");
    let id = message.header("Nats-Msg-Id").map_or(own, str::to_owned);
    Some(BrokerMessage {
        id,
        headers: message.headers,
        payload: message.payload,
        ack_id: AckId::new(reply),
    })
}

/// Publishes a message to the dead letters, with the reason, and waits for the server: for a stream, if one takes it.
async fn dead_letter(
    connection: &mut NatsConnection,
    subject: &str,
    (why, arrival): (&str, &BrokerMessage),
) -> Result<(), BrokerRefusal> {
    let is_plain = |(name, _): &&(String, String)| !name.to_ascii_lowercase().starts_with("nats-");
    let mut headers: Vec<_> = arrival.headers.iter().filter(is_plain).cloned().collect();
    headers.push(("stagger-refused".to_owned(), reason(why)));
    headers.push(("stagger-source-id".to_owned(), arrival.id.clone()));
    let reply = connection.reply_subject();
    connection.publish((subject, Some(&reply)), &headers, &arrival.payload).await?;
    let answer = within(ANSWER, connection.reply_to(&reply)).await?;
    match answer.status {
        Some(503) => {
            Err(BrokerRefusal::new(404, format!("no stream takes the dead letters of {subject}")))
        }
        _ => read(&answer),
    }
}

fn read(message: &NatsMessage) -> Result<(), BrokerRefusal> {
    if let Some(status) = message.status {
        return Err(BrokerRefusal::new(status, "the server has no JetStream, or no such stream"));
    }
    match serde_json::from_slice(&message.payload) {
        Ok(ApiAnswer { error: None }) => Ok(()),
        Ok(ApiAnswer { error: Some(error) }) => {
            Err(BrokerRefusal::new(error.code, error.description))
        }
        Err(_) => Err(BrokerRefusal::new(502, "the answer is not that of JetStream")),
    }
}

//! A subscription as a source.

use std::collections::BTreeMap;
use std::path::PathBuf;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stagger::{ConfigError, Sleep, Span, TokioTime};
use stagger_sender::{DestinationReply, GuardedNetwork, HttpAddress, Written};

use super::client::call;
use crate::source::{
    AckId, BrokerMessage, Disposition, Source, SourceFailure, no_application, operators_endpoint,
    reason,
};

/// Messages of one round.
const BATCH: usize = 64;
/// The longest wait for an answer: a pull waits for messages, up to 90 s.
const ANSWER: Span = Span::from_secs(100);
/// The pause before a message that could not be accepted comes again, in seconds.
const PAUSE: u64 = 10;

/// The settings of a source.
#[derive(Clone, Debug)]
pub struct PubSubSourceSettings {
    /// The address of the subscription: `https://pubsub.googleapis.com/v1/projects/PROJECT/subscriptions/NAME`.
    pub url: String,
    /// The address of the topic that messages go to which can never be accepted, without a method. Without one they are
    /// acknowledged, with a log line.
    pub dead_letter: Option<String>,
    /// The file with the access token, which is read before each call: whoever replaces the file replaces the token.
    pub token_file: Option<PathBuf>,
}

/// A subscription that all nodes with the same settings share.
#[derive(Debug)]
pub struct PubSubSource {
    network: GuardedNetwork,
    pull: HttpAddress,
    acknowledge: HttpAddress,
    modify: HttpAddress,
    dead_letter: Option<HttpAddress>,
    token_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullReply {
    #[serde(default)]
    received_messages: Vec<ReceivedMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceivedMessage {
    ack_id: String,
    message: TopicMessage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TopicMessage {
    message_id: String,
    #[serde(default)]
    data: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

impl PubSubSource {
    /// A source; it connects when it is asked for messages.
    ///
    /// # Errors
    /// A setting with the bound it breaks.
    pub fn new(
        network: GuardedNetwork,
        settings: PubSubSourceSettings,
    ) -> Result<Self, ConfigError> {
        let PubSubSourceSettings { url, dead_letter, token_file } = settings;
        if !url.contains("/subscriptions/") {
            let bound = "the address of a subscription, such as \
                         https://pubsub.googleapis.com/v1/projects/shop/subscriptions/orders";
            return Err(ConfigError::new("source.url", url, bound));
        }
        let address = |url: &str, method: &str| {
            let url = format!("{url}:{method}");
            network.check_http(&url)?;
            let endpoint = operators_endpoint(&url, None);
            network.http_address(&endpoint)
        };
        Ok(Self {
            pull: address(&url, "pull")?,
            acknowledge: address(&url, "acknowledge")?,
            modify: address(&url, "modifyAckDeadline")?,
            dead_letter: dead_letter.map(|topic| address(&topic, "publish")).transpose()?,
            network: network.clone(),
            token_file,
        })
    }

    fn token(&self) -> Result<Option<HeaderValue>, SourceFailure> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let failed = |why: String| SourceFailure::new(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let value = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
        let mut value = value.map_err(|_| failed("it has no token".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    async fn call(&self, to: &HttpAddress, body: Value) -> Result<DestinationReply, SourceFailure> {
        let (token, written) = (self.token()?, Written::default());
        let call = call(&self.network, (to, no_application()), (&body, token.as_ref()), &written);
        let reply = tokio::select! {
            biased;
            reply = call => reply.map_err(|failure| SourceFailure::new(failure.detail()))?,
            () = TokioTime.sleep(ANSWER) => return Err(SourceFailure::new("no answer")),
        };
        match reply.status {
            200 => Ok(reply),
            status => {
                let detail = reply.detail.unwrap_or_default();
                Err(SourceFailure::new(format!("{status}: {detail}")))
            }
        }
    }

    async fn bury(
        &self,
        to: &HttpAddress,
        why: &str,
        arrival: &BrokerMessage,
    ) -> Result<(), SourceFailure> {
        let why = reason(why);
        let own = arrival.headers.iter().filter(|(name, _)| !name.starts_with("goog"));
        let mut attributes: Map<_, _> =
            own.map(|(name, value)| (name.clone(), json!(value))).collect();
        attributes.insert("stagger-refused".to_owned(), json!(why));
        attributes.insert("stagger-source-id".to_owned(), json!(arrival.id));
        let data = STANDARD.encode(&arrival.payload);
        let body = json!({ "messages": [{ "data": data, "attributes": attributes }] });
        self.call(to, body).await.map(|_| ())
    }
}

#[async_trait]
impl Source for PubSubSource {
    async fn receive(&mut self) -> Result<Vec<BrokerMessage>, SourceFailure> {
        let reply = self.call(&self.pull, json!({ "maxMessages": BATCH })).await?;
        let reply: PullReply = serde_json::from_slice(&reply.reply).map_err(|error| {
            SourceFailure::new(format!("the reply is not that of Pub/Sub: {error}"))
        })?;
        Ok(reply.received_messages.into_iter().map(arrival).collect())
    }

    async fn settle(&mut self, ack_id: AckId, fate: Disposition) -> Result<(), SourceFailure> {
        let mut body = json!({ "ackIds": [ack_id.as_str()] });
        match fate {
            Disposition::Accepted => {}
            Disposition::Later => {
                body["ackDeadlineSeconds"] = json!(PAUSE);
                return self.call(&self.modify, body).await.map(|_| ());
            }
            Disposition::Poison(why, arrival) => {
                if let Some(to) = &self.dead_letter {
                    self.bury(to, &why, &arrival).await?;
                }
            }
        }
        self.call(&self.acknowledge, body).await.map(|_| ())
    }
}

/// Data that is no base64 is poison further on: it is taken as it came.
fn arrival(received: ReceivedMessage) -> BrokerMessage {
    let TopicMessage { message_id, data, attributes } = received.message;
    let payload = STANDARD.decode(&data).unwrap_or_else(|_| data.into_bytes()).into();
    let (headers, ack_id) = (attributes.into_iter().collect(), AckId::new(received.ack_id));
    BrokerMessage { id: message_id, headers, payload, ack_id }
}

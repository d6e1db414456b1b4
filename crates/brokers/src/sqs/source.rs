//! A queue of SQS as a source.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stagger::{ConfigError, Sleep, Span, TokioTime};
use stagger_sender::{GuardedNetwork, Written};

use super::client::{Queue, QueueReply};
use super::credentials::AwsCredentials;
use crate::source::{
    AckId, BrokerMessage, Disposition, Source, SourceFailure, no_application, operators_endpoint,
    reason,
};

/// Messages of one round, the most that SQS gives.
const BATCH: usize = 10;
/// The longest wait for a message, and for an answer, in seconds.
const WAIT: u64 = 10;
const ANSWER: Span = Span::from_secs(WAIT + 10);
/// The time after which an unsettled message comes again, in seconds.
const VISIBILITY: u64 = 60;
/// The pause before a message that could not be accepted comes again, in seconds.
const PAUSE: u64 = 5;
/// Most attributes of a message.
const MAX_ATTRIBUTES: usize = 10;

/// The settings of a source.
#[derive(Clone, Debug)]
pub struct SqsSourceSettings {
    /// The URL of the queue.
    pub url: String,
    /// The region that signatures name.
    pub region: String,
    /// The URL of the queue that messages go to which can never be accepted, on the same server. Without one they are deleted,
    /// with a log line.
    pub dead_letter: Option<String>,
    /// The access key.
    pub credentials: AwsCredentials,
}

/// A queue that all nodes with the same settings share.
#[derive(Debug)]
pub struct SqsSource {
    network: GuardedNetwork,
    queue: Queue,
    dead_letter: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReceiveReply {
    #[serde(default)]
    messages: Option<Vec<QueueMessage>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct QueueMessage {
    message_id: String,
    receipt_handle: String,
    body: String,
    #[serde(default)]
    message_attributes: BTreeMap<String, Attribute>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attribute {
    #[serde(default)]
    string_value: Option<String>,
}

impl SqsSource {
    /// A source; it connects when it is asked for messages.
    ///
    /// # Errors
    /// A setting with the bound it breaks.
    pub fn new(network: GuardedNetwork, settings: SqsSourceSettings) -> Result<Self, ConfigError> {
        let SqsSourceSettings { url, region, dead_letter, credentials } = settings;
        network.check_http(&url)?;
        let endpoint = operators_endpoint(&url, None);
        let queue = Queue::new(&network, &endpoint, &region, credentials)?;
        Ok(Self { network, queue, dead_letter })
    }

    async fn call(&self, action: &str, body: Value) -> Result<QueueReply, SourceFailure> {
        let written = Written::default();
        let call = self.queue.call(&self.network, no_application(), (action, &body), &written);
        let reply = tokio::select! {
            biased;
            reply = call => reply.map_err(|failure| SourceFailure::new(failure.detail()))?,
            () = TokioTime.sleep(ANSWER) => return Err(SourceFailure::new("the queue does not answer")),
        };
        match (reply.status, &reply.detail) {
            (200, _) => Ok(reply),
            (status, detail) => Err(SourceFailure::new(format!(
                "{status}: {}",
                detail.as_deref().unwrap_or("refused")
            ))),
        }
    }

    async fn bury(
        &self,
        to: &str,
        why: &str,
        arrival: &BrokerMessage,
    ) -> Result<(), SourceFailure> {
        let mut headers = vec![
            ("stagger-refused".to_owned(), reason(why)),
            ("stagger-source-id".to_owned(), arrival.id.clone()),
        ];
        headers.extend(arrival.headers.iter().cloned());
        headers.truncate(MAX_ATTRIBUTES);
        let attribute =
            |(name, value)| (name, json!({ "DataType": "String", "StringValue": value }));
        let attributes: Map<_, _> = headers.into_iter().map(attribute).collect();
        let text = String::from_utf8_lossy(&arrival.payload);
        let mut body =
            json!({ "QueueUrl": to, "MessageBody": text, "MessageAttributes": attributes });
        if let (true, Some(body)) = (to.ends_with(".fifo"), body.as_object_mut()) {
            body.insert("MessageGroupId".to_owned(), json!("stagger"));
            body.insert("MessageDeduplicationId".to_owned(), json!(arrival.id));
        }
        self.call("SendMessage", body).await.map(|_| ())
    }
}

#[async_trait]
impl Source for SqsSource {
    async fn receive(&mut self) -> Result<Vec<BrokerMessage>, SourceFailure> {
        let body = json!({
            "QueueUrl": self.queue.url, "MaxNumberOfMessages": BATCH, "WaitTimeSeconds": WAIT,
            "VisibilityTimeout": VISIBILITY, "MessageAttributeNames": ["All"],
        });
        let reply = self.call("ReceiveMessage", body).await?;
        let reply: ReceiveReply = serde_json::from_slice(&reply.body).map_err(|error| {
            SourceFailure::new(format!("the reply is not that of SQS: {error}"))
        })?;
        Ok(reply.messages.unwrap_or_default().into_iter().map(arrival).collect())
    }

    async fn settle(&mut self, ack_id: AckId, fate: Disposition) -> Result<(), SourceFailure> {
        let mut body = json!({ "QueueUrl": self.queue.url, "ReceiptHandle": ack_id.as_str() });
        match fate {
            Disposition::Accepted => {}
            Disposition::Later => {
                body["VisibilityTimeout"] = json!(PAUSE);
                return self.call("ChangeMessageVisibility", body).await.map(|_| ());
            }
            Disposition::Poison(why, arrival) => {
                if let Some(to) = &self.dead_letter {
                    self.bury(to, &why, &arrival).await?;
                }
            }
        }
        self.call("DeleteMessage", body).await.map(|_| ())
    }
}

fn arrival(message: QueueMessage) -> BrokerMessage {
    let attributes = message.message_attributes.into_iter();
    let headers = attributes.filter_map(|(name, it)| Some((name, it.string_value?))).collect();
    let (id, ack_id) = (message.message_id, AckId::new(message.receipt_handle));
    BrokerMessage { id, headers, payload: Bytes::from(message.body), ack_id }
}

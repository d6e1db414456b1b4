//! A queue of SQS as a destination.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use stagger::ConfigError;
use stagger_scheduler::model::{AttemptFailure, Endpoint, SqsDestination};
use stagger_sender::{
    BrokerDestination, DestinationReply, GuardedNetwork, Outgoing, SendFailure, Written,
};

use super::client::Queue;
use super::credentials::AwsCredentials;

/// Most headers of an endpoint: a message has at most ten attributes, and eight are taken.
const MAX_HEADERS: usize = 2;
/// Largest message with its attributes, in bytes.
const MAX_MESSAGE: usize = 1 << 20;

/// One queue.
#[derive(Debug)]
pub(crate) struct SqsPublisher {
    group: Option<String>,
    queue: Queue,
    url: String,
}

impl SqsPublisher {
    /// # Errors
    /// `destination`, `endpoint.url`, `endpoint.headers` or `auth` with the bound it breaks.
    pub(crate) fn new(
        network: &GuardedNetwork,
        endpoint: &Endpoint,
        settings: &SqsDestination,
    ) -> Result<Self, ConfigError> {
        let SqsDestination { region, group } = settings;
        if endpoint.headers.len() > MAX_HEADERS {
            let bound = "2 at most for a queue of SQS, whose messages have ten attributes";
            return Err(ConfigError::new("endpoint.headers", endpoint.headers.len(), bound));
        }
        let is_queue_of_order = endpoint.url.ends_with(".fifo");
        if group.is_some() != is_queue_of_order {
            let given = group.as_deref().unwrap_or("(none)");
            let bound = "set for a queue that keeps the order, whose name ends with .fifo, and left out for others";
            return Err(ConfigError::new("destination.group", given, bound));
        }
        let credentials = AwsCredentials::of_endpoint(endpoint.auth.as_ref())?;
        let queue = Queue::new(network, endpoint, region, credentials)?;
        Ok(Self { group: group.clone(), queue, url: endpoint.url.clone() })
    }

    fn body(&self, outgoing: &Outgoing<'_>) -> Result<Value, SendFailure> {
        let unbuildable = |why: String| SendFailure::new(AttemptFailure::Unbuildable, why);
        let text = std::str::from_utf8(outgoing.payload())
            .map_err(|_| unbuildable("a queue of SQS takes only text".to_owned()))?;
        let headers = outgoing.headers()?;
        let size = text.len()
            + headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        if size > MAX_MESSAGE {
            return Err(unbuildable(format!(
                "{size} bytes with attributes; a queue takes at most {MAX_MESSAGE}"
            )));
        }
        let attribute = |(name, value): (String, String)| {
            (name, json!({ "DataType": "String", "StringValue": value }))
        };
        let attributes: Map<_, _> =
            headers.into_iter().filter(|(_, value)| !value.is_empty()).map(attribute).collect();
        let mut body = json!({ "QueueUrl": self.queue.url, "MessageBody": text, "MessageAttributes": attributes });
        if let (Some(group), Some(body)) = (&self.group, body.as_object_mut()) {
            body.insert("MessageGroupId".to_owned(), json!(outgoing.fill(group)));
            let id = outgoing.message().id.to_string();
            body.insert("MessageDeduplicationId".to_owned(), json!(id));
        }
        Ok(body)
    }
}

#[async_trait]
impl BrokerDestination for SqsPublisher {
    fn check(&self, network: &GuardedNetwork) -> Result<(), ConfigError> {
        network.check_http(&self.url)
    }

    async fn attempt(
        &self,
        network: &GuardedNetwork,
        outgoing: &Outgoing<'_>,
        written: &Written,
    ) -> Result<DestinationReply, SendFailure> {
        let body = self.body(outgoing)?;
        let call = ("SendMessage", &body);
        let reply = self.queue.call(network, outgoing.application(), call, written).await?;
        Ok(DestinationReply {
            status: reply.status,
            detail: reply.detail,
            hint: reply.hint,
            reply: reply.body,
        })
    }
}

//! Messages in JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::schema::{AnyJson, EventTypeText, IdempotencyKeyText, MessageIdText, TimestampText};
use crate::model::{Message, MessageId};
use crate::store::Accepted;

/// An event to deliver.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"event_type": "invoice.paid", "payload": {"invoice": "in_17", "amount": 1250}}))]
pub(in super::super) struct NewMessage<'b> {
    /// The event type.
    #[serde(borrow)]
    #[schema(value_type = EventTypeText)]
    pub(in super::super) event_type: Cow<'b, str>,
    /// Any JSON. It is delivered byte for byte as it stands here.
    #[serde(borrow)]
    #[schema(value_type = AnyJson)]
    pub(in super::super) payload: &'b RawValue,
    /// The sender's own name for it: the same one answers with the same message. Not beside the
    /// header `Idempotency-Key`.
    #[serde(borrow)]
    #[schema(value_type = Option<IdempotencyKeyText>)]
    pub(in super::super) idempotency_key: Option<Cow<'b, str>>,
}

/// Several messages, accepted all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct NewBatch<'b> {
    #[serde(borrow)]
    #[schema(value_type = Vec<NewMessage>, min_items = 1, max_items = 1_000)]
    pub(in super::super) messages: Vec<NewMessage<'b>>,
}

/// A message is on disk, and will be delivered to each endpoint that subscribes to its type.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in super::super) struct AcceptedMessage {
    #[schema(value_type = MessageIdText)]
    id: MessageId,
    /// Whether its idempotency key was there before: then this is the first message with it, and
    /// nothing was added.
    repeated: bool,
}

impl From<Accepted> for AcceptedMessage {
    fn from(accepted: Accepted) -> Self {
        Self { id: accepted.id, repeated: accepted.repeated }
    }
}

/// All messages of a batch are on disk.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct AcceptedBatch {
    /// In the order of the batch.
    pub(in super::super) messages: Vec<AcceptedMessage>,
}

/// A test event is on its way.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in super::super) struct TestSent {
    #[schema(value_type = MessageIdText)]
    pub(in super::super) message: MessageId,
}

/// A message without its payload.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub(in super::super) struct MessageView {
    #[schema(value_type = MessageIdText)]
    id: MessageId,
    #[schema(value_type = EventTypeText)]
    event_type: String,
    #[schema(value_type = Option<IdempotencyKeyText>)]
    idempotency_key: Option<String>,
    /// The `Content-Type` that it is delivered with.
    content_type: String,
    /// Bytes of its payload.
    size: usize,
    #[schema(value_type = TimestampText)]
    created_at: Timestamp,
}

impl From<&Message> for MessageView {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id,
            event_type: message.event_type.as_str().to_owned(),
            idempotency_key: message.key.as_ref().map(ToString::to_string),
            content_type: message.content_type.clone(),
            size: message.size,
            created_at: Timestamp(message.created_at),
        }
    }
}

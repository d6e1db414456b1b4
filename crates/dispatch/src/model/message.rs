//! A message: what an application says happened, stored once.

use bytes::Bytes;
use stagger::Instant;

use super::{ApplicationId, EndpointId, EventType, IdempotencyKey, MessageId};

/// A message without its payload, which is kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name: the `webhook-id` of every attempt.
    pub id: MessageId,
    /// Who sent it.
    pub application: ApplicationId,
    /// What happened.
    pub event_type: EventType,
    /// The sender's own name for it.
    pub key: Option<IdempotencyKey>,
    /// The `Content-Type` it is sent with.
    pub content_type: String,
    /// Bytes of the payload.
    pub size: usize,
    /// When it was accepted.
    pub created_at: Instant,
}

/// A message on its way into the store, with everything that becomes durable together.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The message.
    pub message: Message,
    /// Its bytes, as they came and as they will be sent.
    pub payload: Bytes,
    /// Who gets it.
    pub endpoints: Vec<EndpointId>,
}

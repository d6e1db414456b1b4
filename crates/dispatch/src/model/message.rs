//! A message: an event of an application, stored once.

use bytes::Bytes;
use stagger::Instant;

use super::{ApplicationId, EndpointId, EventType, IdempotencyKey, MessageId};

/// A message without its payload, which is kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name: the `webhook-id` of every attempt.
    pub id: MessageId,
    /// The application that sent it.
    pub application: ApplicationId,
    /// The event type.
    pub event_type: EventType,
    /// The sender's own name for it.
    pub key: Option<IdempotencyKey>,
    /// The `Content-Type` it is sent with.
    pub content_type: String,
    /// Bytes of the payload.
    pub size: usize,
    /// The time at which it was accepted.
    pub created_at: Instant,
}

/// A message on its way into the store, with everything that becomes durable together.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The message.
    pub message: Message,
    /// Its bytes, as they came and as they will be sent.
    pub payload: Bytes,
    /// The endpoints that receive it.
    pub endpoints: Vec<EndpointId>,
}

//! A message as an application sends it in.

use bytes::Bytes;

use crate::model::{EventType, IdempotencyKey};

/// A message to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The event type. Operational types are refused.
    pub event_type: EventType,
    /// The bytes that will be sent, exactly.
    pub payload: Bytes,
    /// Their `Content-Type`.
    pub content_type: String,
    /// The sender's own name for it.
    pub key: Option<IdempotencyKey>,
}

//! Messages to accept: their ids, and their receivers.

use std::sync::Arc;

use bytes::Bytes;
use stagger::Instant;

use super::directory::Directory;
use super::fleet::SettingsSync;
use crate::Error;
use crate::model::{
    ApplicationId, EndpointId, EventType, IdGenerator, IdempotencyKey, Message, MessageId,
    NewMessage,
};

/// The memory of a message besides its payload while it waits for the store, in bytes.
const OVERHEAD: usize = 1024;

/// A message to deliver, as an application sends it in.
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

/// Names messages, and chooses their receivers.
#[derive(Clone, Debug)]
pub(super) struct ReceiverChoice {
    pub(super) directory: Arc<Directory>,
    pub(super) message_ids: Arc<IdGenerator>,
    pub(super) settings: Arc<SettingsSync>,
}

/// The receivers of messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receivers {
    /// All endpoints of an application that want their types.
    Of(ApplicationId),
    /// One endpoint.
    Only(EndpointId),
}

/// Messages to accept, before their receivers are known.
#[derive(Debug)]
pub(super) struct IntakeRequest {
    to: Receivers,
    messages: Vec<(MessageId, Submission)>,
    now: Instant,
}

impl ReceiverChoice {
    /// Names messages.
    ///
    /// # Errors
    /// The operating system has no randomness for the names.
    pub(super) fn request(
        &self,
        to: Receivers,
        messages: Vec<Submission>,
        now: Instant,
    ) -> Result<IntakeRequest, Error> {
        let ids = self.message_ids.message_ids(now, messages.len())?;
        Ok(IntakeRequest { to, messages: ids.into_iter().zip(messages).collect(), now })
    }

    /// The messages with their receivers, as the directory has them now.
    pub(super) fn addressed(&self, wanted: &IntakeRequest) -> Result<Vec<NewMessage>, Error> {
        let (application, receivers) = match wanted.to {
            Receivers::Of(application) => {
                let types = wanted.messages.iter().map(|(_, message)| &message.event_type);
                let receivers = self.directory.fan_out(application, types);
                (application, receivers.ok_or_else(|| Error::not_found("application"))?)
            }
            Receivers::Only(id) => {
                let endpoint = self.directory.endpoint(id);
                let endpoint = endpoint.ok_or_else(|| Error::not_found("endpoint"))?;
                (endpoint.application, vec![vec![id]; wanted.messages.len()])
            }
        };
        let made = wanted.messages.iter().zip(receivers);
        let named = |((id, message), to): (&(MessageId, Submission), _)| {
            message.named(*id, application, wanted.now, to)
        };
        Ok(made.map(named).collect())
    }
}

impl IntakeRequest {
    /// The memory of its payloads while they wait for the store, in bytes.
    pub(super) fn weight(&self) -> usize {
        self.messages.iter().map(|(_, message)| message.payload.len() + OVERHEAD).sum()
    }
}

impl Submission {
    fn named(
        &self,
        id: MessageId,
        application: ApplicationId,
        now: Instant,
        endpoints: Vec<EndpointId>,
    ) -> NewMessage {
        let Self { event_type, payload, content_type, key } = self.clone();
        let size = payload.len();
        let message =
            Message { id, application, event_type, key, content_type, size, created_at: now };
        NewMessage { message, payload, endpoints }
    }
}

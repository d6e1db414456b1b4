//! Messages on their way in: their names and their receivers.

use std::sync::Arc;

use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::model::{
    ApplicationId, ChannelName, EndpointId, EventAttributes, EventType, IdempotencyKey, Message,
    MessageId, NewMessage, TraceContext,
};

use super::directory::Directory;
use super::fleet::SettingsSync;
use super::operational::JSON;
use super::routing::Routed;
use crate::Error;
use crate::random::IdGenerator;

/// The memory of a message besides its payload while it waits for the store, in bytes.
const OVERHEAD: usize = 1024;

/// The size of a step in which a batch is stored, in rows: some 10 ms of a busy store's work, for which all other
/// callers wait.
const STEP: usize = 512;

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
    /// The channels that it is in, sorted: none reaches only endpoints without channels.
    pub channels: Vec<ChannelName>,
    /// The trace of its producer, which the attempts continue.
    pub trace: Option<TraceContext>,
    /// Its attributes as an event.
    pub attributes: EventAttributes,
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

impl Receivers {
    /// The application that sends the messages; none if the dispatcher does.
    pub(super) const fn application(self) -> Option<ApplicationId> {
        match self {
            Self::Of(application) => Some(application),
            Self::Only(_) => None,
        }
    }
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

    /// The messages in steps that are stored one after the other, by the receivers that there are now. A
    /// message with more receivers than a step has rows is a step of its own.
    pub(super) fn steps(
        &self,
        application: ApplicationId,
        messages: Vec<Submission>,
    ) -> Vec<Vec<Submission>> {
        let sizes =
            self.directory.fan_out_sizes(application, messages.iter().map(Submission::routed));
        let mut steps: Vec<Vec<Submission>> = Vec::new();
        let mut rows = STEP;
        for (message, size) in messages.into_iter().zip(sizes) {
            rows += 1 + size;
            if rows > STEP {
                steps.push(Vec::new());
                rows = 1 + size;
            }
            if let Some(step) = steps.last_mut() {
                step.push(message);
            }
        }
        steps
    }

    /// The messages with their receivers, as the directory has them now.
    pub(super) fn addressed(&self, wanted: &IntakeRequest) -> Result<Vec<NewMessage>, Error> {
        let mut source = None;
        let (application, receivers) = match wanted.to {
            Receivers::Of(application) => {
                let messages = wanted.messages.iter().map(|(_, message)| message.routed());
                let receivers = self.directory.fan_out(application, messages);
                source = self.directory.application(application).and_then(|it| it.source.clone());
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
            let mut new = message.named(*id, application, wanted.now, to);
            new.message.attributes = new.message.attributes.with_source(source.as_deref());
            new
        };
        Ok(made.map(named).collect())
    }
}

impl IntakeRequest {
    /// The application that sends the messages; none if the dispatcher does.
    pub(super) const fn application(&self) -> Option<ApplicationId> {
        self.to.application()
    }

    /// The messages, in their order.
    pub(super) fn submissions(&self) -> impl Iterator<Item = &Submission> {
        self.messages.iter().map(|(_, submission)| submission)
    }

    /// The memory of its payloads while they wait for the store, in bytes.
    pub(super) fn weight(&self) -> usize {
        self.messages.iter().map(|(_, message)| message.payload.len() + OVERHEAD).sum()
    }
}

impl Submission {
    /// A message with a payload of JSON, without a key, channels and a trace.
    #[must_use]
    pub fn json(event_type: EventType, payload: impl Into<Bytes>) -> Self {
        let (payload, content_type) = (payload.into(), JSON.to_owned());
        let (channels, attributes) = (Vec::new(), EventAttributes::default());
        Self { event_type, payload, content_type, key: None, channels, trace: None, attributes }
    }

    pub(super) fn routed(&self) -> Routed<'_> {
        let Self { event_type, channels, payload, .. } = self;
        Routed { event_type, channels, payload }
    }

    fn named(
        &self,
        id: MessageId,
        application: ApplicationId,
        now: Instant,
        endpoints: Vec<EndpointId>,
    ) -> NewMessage {
        let Self { event_type, payload, content_type, key, channels, trace, attributes } =
            self.clone();
        let (size, created_at) = (payload.len(), now);
        let message = Message {
            id,
            application,
            event_type,
            key,
            content_type,
            size,
            created_at,
            channels,
            trace,
            attributes,
        };
        NewMessage { message, payload, endpoints }
    }
}

//! Messages on their way in: those of applications, and the dispatcher's own.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use stagger::Instant;
use stagger_scheduler::OperationalEvent;
use stagger_scheduler::model::{
    ApplicationId, ChannelName, DeliveryEnding, Disabled, Endpoint, EndpointId, EventType,
    IdempotencyKey, Message, MessageId, NewMessage, TraceContext,
};
use stagger_store::Settlement;
use stagger_text::Timestamp;
use url::Url;

use super::directory::Directory;
use super::fleet::SettingsSync;
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
        let (application, receivers) = match wanted.to {
            Receivers::Of(application) => {
                let messages = wanted.messages.iter().map(|(_, message)| message.routed());
                let receivers = self.directory.fan_out(application, messages);
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
        Self { event_type, payload, content_type, key: None, channels: Vec::new(), trace: None }
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
        let Self { event_type, payload, content_type, key, channels, trace } = self.clone();
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
        };
        NewMessage { message, payload, endpoints }
    }
}

/// The content type of the dispatcher's own messages.
pub(super) const JSON: &str = "application/json";
const DISABLED: &str = "stagger.endpoint.disabled";
const DEAD: &str = "stagger.delivery.dead";

/// Makes operational messages.
#[derive(Debug)]
pub(super) struct OperationalEvents {
    pub(super) directory: Arc<Directory>,
    /// One generator for all messages, so that the order of ids is the order of acceptance.
    pub(super) message_ids: Arc<IdGenerator>,
}

impl OperationalEvents {
    /// The message about the event, for the endpoints of the same application that subscribe to its
    /// type; `None` if there are none.
    pub(super) fn message(
        &self,
        event: OperationalEvent,
        settlement: &Settlement,
        now: Instant,
    ) -> Option<NewMessage> {
        let (OperationalEvent::EndpointDisabled(id, _) | OperationalEvent::DeliveryDead(id, _)) =
            event;
        let endpoint = self.directory.endpoint(id)?;
        let (name, data) = match event {
            OperationalEvent::EndpointDisabled(_, why) => {
                (DISABLED, disabled(&endpoint, why, settlement))
            }
            OperationalEvent::DeliveryDead(_, message) => {
                (DEAD, dead(&endpoint, message, settlement))
            }
        };
        let event_type: EventType = name.parse().ok()?;
        let body = json!({ "type": name, "timestamp": Timestamp(now).to_string(), "data": data });
        let payload = Bytes::from(body.to_string());
        let routed = Routed { event_type: &event_type, channels: &[], payload: &payload };
        let receivers = self.directory.fan_out(endpoint.application, std::iter::once(routed));
        let mut endpoints = receivers?.pop()?;
        if name == DISABLED {
            // It would only wait there.
            endpoints.retain(|receiver| *receiver != id);
        }
        if endpoints.is_empty() {
            return None;
        }
        let id = self
            .message_ids
            .message_ids(now, 1)
            .inspect_err(|error| tracing::warn!(%error, "operational event dropped"))
            .ok()?
            .pop()?;
        let message = Message {
            id,
            application: endpoint.application,
            event_type,
            key: None,
            content_type: JSON.to_owned(),
            size: payload.len(),
            created_at: now,
            channels: Vec::new(),
            trace: None,
        };
        Some(NewMessage { message, payload, endpoints })
    }
}

fn disabled(endpoint: &Endpoint, why: Disabled, settlement: &Settlement) -> Value {
    let since =
        settlement.endpoint_state.and_then(|(_, endpoint_state)| endpoint_state.failing_since);
    json!({
        "application": endpoint.application,
        "endpoint": endpoint.id,
        "url": shown(&endpoint.url),
        "reason": why.name(),
        "failing_since": since.map(|since| Timestamp(since).to_string()),
    })
}

fn dead(endpoint: &Endpoint, message: MessageId, settlement: &Settlement) -> Value {
    let delivery = settlement.delivery;
    json!({
        "application": endpoint.application,
        "endpoint": endpoint.id,
        "url": shown(&endpoint.url),
        "message": message,
        "reason": delivery.and_then(|delivery| delivery.ending).map(DeliveryEnding::name),
        "attempts": delivery.map(|delivery| delivery.attempts),
        "status": settlement.attempt.as_ref().and_then(|attempt| attempt.status),
    })
}

/// A URL without the parts that may hold a secret: user, password, query.
fn shown(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return String::new() };
    // An address that can have neither has none to hide.
    _ = url.set_username("");
    _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_its_secrets() {
        assert_eq!(shown("https://u:p@a.test/hook/1?token=x#y"), "https://a.test/hook/1");
        assert_eq!(shown("nonsense"), "");
    }
}

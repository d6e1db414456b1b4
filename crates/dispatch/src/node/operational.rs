//! Operational messages: the dispatcher's own, about the endpoints and the deliveries of an application.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use stagger::Instant;
use stagger_scheduler::OperationalEvent;
use stagger_scheduler::model::{
    ApplicationId, DeliveryEnding, Disabled, Endpoint, EndpointId, EventAttributes, EventType,
    Message, MessageId, NewMessage,
};
use stagger_store::Settlement;
use stagger_text::Timestamp;
use url::Url;

use super::directory::Directory;
use super::routing::Routed;
use crate::Error;
use crate::random::IdGenerator;

/// The content type of the dispatcher's own messages.
pub(super) const JSON: &str = "application/json";
const DISABLED: &str = "stagger.endpoint.disabled";
const DEAD: &str = "stagger.delivery.dead";

/// Makes messages of the dispatcher's own.
#[derive(Debug)]
pub(super) struct EventMaker {
    pub(super) directory: Arc<Directory>,
    /// One generator for all messages, so that the order of ids is the order of acceptance.
    pub(super) message_ids: Arc<IdGenerator>,
}

impl EventMaker {
    /// A message of type `name` for the endpoints of an application that subscribe to it, except for `not_to`; `None`
    /// if there are none.
    ///
    /// # Errors
    /// The operating system has no randomness for its id.
    pub(super) fn message(
        &self,
        now: Instant,
        application: ApplicationId,
        (name, data): (&str, Value),
        not_to: Option<EndpointId>,
    ) -> Result<Option<NewMessage>, Error> {
        let event_type: EventType = name.parse()?;
        let body = json!({ "type": name, "timestamp": Timestamp(now).to_string(), "data": data });
        let payload = Bytes::from(body.to_string());
        let routed = Routed { event_type: &event_type, channels: &[], payload: &payload };
        let receivers = self.directory.fan_out(application, std::iter::once(routed));
        let mut endpoints = receivers.and_then(|mut of| of.pop()).unwrap_or_default();
        endpoints.retain(|receiver| Some(*receiver) != not_to);
        if endpoints.is_empty() {
            return Ok(None);
        }
        let Some(id) = self.message_ids.message_ids(now, 1)?.pop() else { return Ok(None) };
        let message = Message {
            id,
            application,
            event_type,
            key: None,
            content_type: JSON.to_owned(),
            size: payload.len(),
            created_at: now,
            channels: Vec::new(),
            trace: None,
            attributes: EventAttributes::default(),
        };
        Ok(Some(NewMessage { message, payload, endpoints }))
    }
}

/// Makes the operational messages of each application.
#[derive(Debug)]
pub(super) struct OperationalEvents(pub(super) EventMaker);

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
        let endpoint = self.0.directory.endpoint(id)?;
        let (event, not_to) = match event {
            // It would only wait there.
            OperationalEvent::EndpointDisabled(_, why) => {
                ((DISABLED, disabled(&endpoint, why, settlement)), Some(id))
            }
            OperationalEvent::DeliveryDead(_, message) => {
                ((DEAD, dead(&endpoint, message, settlement)), None)
            }
        };
        let made = self.0.message(now, endpoint.application, event, not_to);
        made.inspect_err(|error| tracing::warn!(%error, "operational event dropped")).ok()?
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
pub(super) fn shown(url: &str) -> String {
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

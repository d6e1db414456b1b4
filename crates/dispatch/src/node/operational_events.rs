//! Operational webhooks: events about the dispatcher itself, for an application.

use std::sync::Arc;

use serde_json::{Value, json};
use stagger::Instant;
use stagger_text::Timestamp;
use url::Url;

use super::directory::Directory;
use crate::model::{
    DeliveryEnding, Disabled, Endpoint, EndpointId, EventType, IdGenerator, Message, MessageId,
    NewMessage,
};
use crate::scheduler::OperationalEvent;
use crate::store::Settlement;

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
        let mut endpoints = self.receivers(&endpoint, &event_type)?;
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
        let body = json!({ "type": name, "timestamp": Timestamp(now).to_string(), "data": data });
        let payload = body.to_string();
        let message = Message {
            id,
            application: endpoint.application,
            event_type,
            key: None,
            content_type: JSON.to_owned(),
            size: payload.len(),
            created_at: now,
        };
        Some(NewMessage { message, payload: payload.into(), endpoints })
    }

    fn receivers(&self, endpoint: &Endpoint, event_type: &EventType) -> Option<Vec<EndpointId>> {
        self.directory.fan_out(endpoint.application, std::iter::once(event_type))?.pop()
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

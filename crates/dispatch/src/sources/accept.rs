//! A broker's message as a message of an application.

use sha2::{Digest, Sha256};
use stagger_brokers::{BrokerMessage, Disposition};
use stagger_scheduler::model::{
    ApplicationId, EventAttributes, EventType, IdempotencyKey, TraceContext,
};

use crate::Error;
use crate::config::SourceSettings;
use crate::node::{Node, Submission};

/// The header that names the application, if the settings do not.
const APPLICATION: &str = "stagger-application";
/// The header that names the event type, unless the settings do.
const EVENT_TYPE: &str = "stagger-event-type";
const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

/// The result for a message, for the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceOutcome {
    Accepted,
    Repeated,
    Poison,
    Later,
}

/// Accepts a message, durably; says what the broker is to be told.
pub(super) async fn accept(
    node: &Node,
    (settings, max_payload): (&SourceSettings, usize),
    arrival: &BrokerMessage,
) -> (SourceOutcome, Disposition) {
    match try_accept(node, (settings, max_payload), arrival).await {
        Ok(outcome) => (outcome, Disposition::Accepted),
        Err(error) if is_poison(&error) => {
            tracing::warn!(source = settings.name, id = arrival.id, %error, "source message refused");
            let arrival = Box::new(arrival.clone());
            (SourceOutcome::Poison, Disposition::Poison(error.to_string(), arrival))
        }
        Err(error) => {
            tracing::debug!(source = settings.name, id = arrival.id, %error, "source message put off");
            (SourceOutcome::Later, Disposition::Later)
        }
    }
}

async fn try_accept(
    node: &Node,
    bounds: (&SourceSettings, usize),
    arrival: &BrokerMessage,
) -> Result<SourceOutcome, Error> {
    let (application, submission) = submission(node, bounds, arrival).await?;
    let accepted = node.accept(application, vec![submission.clone()]).await?;
    match accepted.first() {
        Some(first) if first.repeated => {
            node.refuse_another(first.id, &submission).await?;
            Ok(SourceOutcome::Repeated)
        }
        _ => Ok(SourceOutcome::Accepted),
    }
}

/// Whether the same message can never be accepted, whatever time passes.
fn is_poison(error: &Error) -> bool {
    error.is_invalid() || error.is_not_found() || error.is_conflict()
}

async fn submission(
    node: &Node,
    (settings, max_payload): (&SourceSettings, usize),
    arrival: &BrokerMessage,
) -> Result<(ApplicationId, Submission), Error> {
    let size = arrival.payload.len();
    if size > max_payload {
        return Err(Error::invalid(
            "payload",
            format!("{size} bytes"),
            format!("at most {max_payload} bytes"),
        ));
    }
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&arrival.payload).is_ok();
    if settings.json && !is_json {
        return Err(Error::invalid("payload", format!("{size} bytes"), "JSON"));
    }
    let event_type = settings.event_type.as_deref().or_else(|| arrival.header(EVENT_TYPE));
    let missing = || {
        Error::invalid(EVENT_TYPE, "(none)", "a header of the message, or the setting event_type")
    };
    let event_type: EventType = event_type.ok_or_else(missing)?.parse()?;
    let application = application(node, settings, arrival).await?;
    let own_type = arrival.header("content-type").filter(|it| is_header_value(it));
    let content_type = own_type.unwrap_or(if is_json { JSON } else { BYTES }).to_owned();
    let trace = arrival.header("traceparent");
    let trace = trace.and_then(|it| TraceContext::parse(it, arrival.header("tracestate")));
    let submission = Submission {
        event_type,
        payload: arrival.payload.clone(),
        content_type,
        key: Some(key(&settings.name, &arrival.id)?),
        channels: Vec::new(),
        trace,
        attributes: EventAttributes::default(),
    };
    Ok((application, submission))
}

/// The application of the settings, or that of the message: by its id, or as `uid:ID`.
async fn application(
    node: &Node,
    settings: &SourceSettings,
    arrival: &BrokerMessage,
) -> Result<ApplicationId, Error> {
    let name = settings.application.as_deref().or_else(|| arrival.header(APPLICATION));
    let name = name.ok_or_else(|| {
        Error::invalid(APPLICATION, "(none)", "a header of the message, or the setting application")
    })?;
    let found = || {
        Ok::<_, Error>(match name.strip_prefix("uid:") {
            Some(uid) => node.application_of_uid(&uid.parse()?),
            None => node.application(name.parse()?),
        })
    };
    if let Some(application) = found()? {
        return Ok(application.id);
    }
    // Another node may just have made it.
    node.sync_settings().await?;
    Ok(found()?.ok_or_else(|| Error::not_found("application"))?.id)
}

/// The idempotency key of a message: one that comes again is known by it.
fn key(source: &str, id: &str) -> Result<IdempotencyKey, Error> {
    let plain: Result<IdempotencyKey, _> = format!("{source}:{id}").parse();
    if let Ok(key) = plain {
        return Ok(key);
    }
    let digest: String = Sha256::digest(id).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{source}:{digest}").parse()?)
}

fn is_header_value(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_broker_are_keys_whatever_they_contain() {
        assert_eq!(key("orders", "ORDERS:7").unwrap().as_str(), "orders:ORDERS:7");
        let odd = key("orders", "é\n").unwrap();
        assert_ne!(odd, key("orders", "é\r").unwrap());
        assert_eq!(odd, key("orders", "é\n").unwrap());
        assert!(key("orders", &"x".repeat(400)).unwrap().as_str().len() < 100);
    }
}

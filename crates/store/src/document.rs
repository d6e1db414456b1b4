//! Settings as JSON documents in a column, so that a new field needs no migration.
//!
//! A document is read leniently: a field that an older release did not write has its default, and a
//! field of a newer release is ignored. Documents contain secrets in the clear: a reader of the
//! store can sign.

use std::borrow::Cow;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, ChannelName, Endpoint, EndpointId, EndpointState, HeaderTemplate, KeyHash,
    Message, Secret, SecretKind, TraceContext,
};

use super::encoding::Unreadable;

/// The document of an application.
pub(super) fn of_application(application: &Application) -> Result<String, Unreadable> {
    write(&ApplicationDocument {
        name: application.name.clone(),
        keys: application.keys.iter().map(|key| Base64(key.as_bytes().to_vec())).collect(),
        slots: application.slots,
        created_at: application.created_at.as_nanos(),
    })
}

/// The application that a document describes.
pub(super) fn application(id: ApplicationId, text: &str) -> Result<Application, Unreadable> {
    let document: ApplicationDocument = read(text)?;
    let keys = document.keys.into_iter().map(|key| key.0.try_into().map(KeyHash::from_bytes));
    Ok(Application {
        id,
        name: document.name,
        keys: keys
            .collect::<Result<_, _>>()
            .map_err(|_| Unreadable::new("not the hash of a key"))?,
        slots: document.slots,
        created_at: Instant::from_nanos(document.created_at),
    })
}

/// The document of an endpoint.
pub(super) fn of_endpoint(endpoint: &Endpoint) -> Result<String, Unreadable> {
    write(&EndpointDocument {
        settings: Cow::Borrowed(endpoint),
        secrets: endpoint.secrets.iter().map(SecretDocument::from).collect(),
        headers: endpoint.headers.iter().cloned().map(HeaderDocument::from).collect(),
    })
}

/// The endpoint that a document describes.
pub(super) fn endpoint(
    id: EndpointId,
    application: ApplicationId,
    text: &str,
) -> Result<Endpoint, Unreadable> {
    let EndpointDocument { settings, secrets, headers } = read(text)?;
    let secrets = secrets.into_iter().map(Secret::from).collect();
    let headers = headers.into_iter().map(HeaderTemplate::from).collect();
    Ok(Endpoint { id, application, secrets, headers, ..settings.into_owned() })
}

/// The document of a message: what it has beside its columns, if anything.
pub(super) fn of_message(message: &Message) -> Result<Option<String>, Unreadable> {
    if message.trace.is_none() && message.channels.is_empty() {
        return Ok(None);
    }
    let trace = message.trace.as_ref();
    write(&MessageDocument {
        traceparent: trace.map(TraceContext::traceparent),
        tracestate: trace.and_then(|trace| trace.tracestate().map(str::to_owned)),
        channels: Cow::Borrowed(&message.channels),
    })
    .map(Some)
}

/// The trace and the channels in the document of a message.
pub(super) fn of_document(
    text: Option<&str>,
) -> Result<(Option<TraceContext>, Vec<ChannelName>), Unreadable> {
    let Some(text) = text else { return Ok((None, Vec::new())) };
    let MessageDocument { traceparent, tracestate, channels } = read(text)?;
    let trace = traceparent.and_then(|parent| TraceContext::parse(&parent, tracestate.as_deref()));
    Ok((trace, channels.into_owned()))
}

/// The document of an endpoint's state.
pub(super) fn of_endpoint_state(endpoint_state: &EndpointState) -> Result<String, Unreadable> {
    write(endpoint_state)
}

/// The endpoint state that a document describes.
pub(super) fn endpoint_state(text: &str) -> Result<EndpointState, Unreadable> {
    read(text)
}

#[derive(Serialize, Deserialize)]
struct ApplicationDocument {
    name: String,
    keys: Vec<Base64>,
    slots: NonZeroU32,
    created_at: u64,
}

#[derive(Serialize, Deserialize)]
struct MessageDocument<'m> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tracestate: Option<String>,
    #[serde(default, skip_serializing_if = "is_empty")]
    channels: Cow<'m, [ChannelName]>,
}

fn is_empty(channels: &[ChannelName]) -> bool {
    channels.is_empty()
}

/// An endpoint with what its own form leaves out.
#[derive(Serialize, Deserialize)]
struct EndpointDocument<'e> {
    settings: Cow<'e, Endpoint>,
    secrets: Vec<SecretDocument>,
    #[serde(default)]
    headers: Vec<HeaderDocument>,
}

#[derive(Serialize, Deserialize)]
struct SecretDocument {
    kind: KindDocument,
    key: Base64,
    #[serde(default)]
    until: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindDocument {
    Symmetric,
    Asymmetric,
}

impl From<&Secret> for SecretDocument {
    fn from(secret: &Secret) -> Self {
        let kind = match secret.kind {
            SecretKind::Symmetric => KindDocument::Symmetric,
            SecretKind::Asymmetric => KindDocument::Asymmetric,
        };
        Self { kind, key: Base64(secret.key.clone()), until: secret.until.map(Instant::as_nanos) }
    }
}

impl From<SecretDocument> for Secret {
    fn from(document: SecretDocument) -> Self {
        let kind = match document.kind {
            KindDocument::Symmetric => SecretKind::Symmetric,
            KindDocument::Asymmetric => SecretKind::Asymmetric,
        };
        Self { kind, key: document.key.0, until: document.until.map(Instant::from_nanos) }
    }
}

#[derive(Serialize, Deserialize)]
struct HeaderDocument {
    name: String,
    value: String,
    #[serde(default)]
    sensitive: bool,
}

impl From<HeaderTemplate> for HeaderDocument {
    fn from(HeaderTemplate { name, value, sensitive }: HeaderTemplate) -> Self {
        Self { name, value, sensitive }
    }
}

impl From<HeaderDocument> for HeaderTemplate {
    fn from(HeaderDocument { name, value, sensitive }: HeaderDocument) -> Self {
        Self { name, value, sensitive }
    }
}

/// Bytes as base64 text (RFC 4648 section 4).
struct Base64(Vec<u8>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

fn write(document: &impl Serialize) -> Result<String, Unreadable> {
    serde_json::to_string(document).map_err(Unreadable::new)
}

fn read<'d, T: Deserialize<'d>>(text: &'d str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(Unreadable::new)
}

#[cfg(test)]
mod tests {
    use stagger_scheduler::model::{EventFilter, Statuses};

    use super::*;
    use crate::testing::fixture::{app, endpoint as built, ep};

    #[test]
    fn a_document_of_another_release_is_read() {
        let text = of_endpoint(&built(1, 1)).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(document.as_object_mut().unwrap().remove("headers").is_some());
        let fields = document["settings"].as_object_mut().unwrap();
        fields.insert("a_later_field".into(), 7.into());
        for missing in ["description", "events", "ordered", "permanent"] {
            assert!(fields.remove(missing).is_some(), "{missing}");
        }
        let read = endpoint(ep(1), app(1), &document.to_string()).unwrap();
        let defaults = Endpoint {
            description: String::new(),
            events: EventFilter::All,
            ordered: false,
            permanent: Statuses::default(),
            headers: Vec::new(),
            ..built(1, 1)
        };
        assert_eq!(read, defaults);
    }

    #[test]
    fn an_endpoint_by_itself_is_written_without_its_secrets_and_headers() {
        let text = serde_json::to_string(&built(1, 1)).unwrap();
        assert!(!text.contains("secret") && !text.contains("header"), "{text}");
    }

    #[test]
    fn a_damaged_document_is_an_error() {
        assert!(endpoint(ep(1), app(1), "{}").is_err());
        assert!(endpoint_state("{\"disabled\":\"bored\"}").is_err());
        assert_eq!(endpoint_state("{}").unwrap(), EndpointState::default());
    }
}

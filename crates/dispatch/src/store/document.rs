//! Settings as JSON documents in a column, so that a new field needs no migration.
//!
//! A document is read leniently: a field that an older release did not write has its default, and a
//! field of a newer release is ignored. Documents contain secrets in the clear: a reader of the
//! store can sign.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stagger::{Instant, Policy, Ratio, Span};

use super::unreadable::Unreadable;
use crate::model::{
    Application, ApplicationId, Disabled, Endpoint, EndpointId, EndpointState, EventFilter,
    EventType, HeaderTemplate, KeyHash, Opened, Pace, Recovery, Secret, SecretKind, Statuses,
};

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
    write(&EndpointDocument::from(endpoint))
}

/// The endpoint that a document describes.
pub(super) fn endpoint(
    id: EndpointId,
    application: ApplicationId,
    text: &str,
) -> Result<Endpoint, Unreadable> {
    let document: EndpointDocument = read(text)?;
    let events = document.events;
    Ok(Endpoint {
        id,
        application,
        url: document.url,
        description: document.description,
        events: events.map_or(EventFilter::All, EventFilter::Only),
        policy: document.policy,
        timeout: document.timeout,
        pace: document.pace.into(),
        ordered: document.ordered,
        permanent: document.permanent,
        disable_after: document.disable_after,
        secrets: document.secrets.into_iter().map(Secret::from).collect(),
        headers: document.headers.into_iter().map(HeaderTemplate::from).collect(),
        created_at: Instant::from_nanos(document.created_at),
        updated_at: Instant::from_nanos(document.updated_at),
    })
}

/// The document of an endpoint's state.
pub(super) fn of_standing(endpoint_state: &EndpointState) -> Result<String, Unreadable> {
    write(&EndpointStateDocument {
        disabled: endpoint_state.disabled.map(|reason| reason.name().to_owned()),
        failing_since: endpoint_state.failing_since.map(Instant::as_nanos),
        paused_until: endpoint_state.paused_until.map(Instant::as_nanos),
        open_until: endpoint_state.open.map(|opened| opened.until.as_nanos()),
        open_time: endpoint_state.open.map(|opened| opened.open_time.as_nanos()),
        recovering_since: endpoint_state.recovering_since.map(Instant::as_nanos),
    })
}

/// The endpoint state that a document describes.
pub(super) fn endpoint_state(text: &str) -> Result<EndpointState, Unreadable> {
    let document: EndpointStateDocument = read(text)?;
    let reason = |name: String| {
        Disabled::by_name(&name).ok_or_else(|| Unreadable::new(format!("unknown reason {name}")))
    };
    let opened = |(until, open_time)| Opened {
        until: Instant::from_nanos(until),
        open_time: Span::from_nanos(open_time),
    };
    Ok(EndpointState {
        disabled: document.disabled.map(reason).transpose()?,
        failing_since: document.failing_since.map(Instant::from_nanos),
        paused_until: document.paused_until.map(Instant::from_nanos),
        open: document.open_until.zip(document.open_time).map(opened),
        recovering_since: document.recovering_since.map(Instant::from_nanos),
    })
}

#[derive(Serialize, Deserialize)]
struct ApplicationDocument {
    name: String,
    keys: Vec<Base64>,
    slots: NonZeroU32,
    created_at: u64,
}

#[derive(Serialize, Deserialize)]
struct EndpointDocument {
    url: String,
    #[serde(default)]
    description: String,
    /// All but the operational ones if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<Vec<EventType>>,
    policy: Policy,
    timeout: Span,
    pace: PaceDocument,
    #[serde(default)]
    ordered: bool,
    #[serde(default)]
    permanent: Statuses,
    disable_after: Span,
    secrets: Vec<SecretDocument>,
    #[serde(default)]
    headers: Vec<HeaderDocument>,
    created_at: u64,
    updated_at: u64,
}

impl From<&Endpoint> for EndpointDocument {
    fn from(endpoint: &Endpoint) -> Self {
        Self {
            url: endpoint.url.clone(),
            description: endpoint.description.clone(),
            events: match &endpoint.events {
                EventFilter::All => None,
                EventFilter::Only(types) => Some(types.clone()),
            },
            policy: endpoint.policy,
            timeout: endpoint.timeout,
            pace: endpoint.pace.into(),
            ordered: endpoint.ordered,
            permanent: endpoint.permanent.clone(),
            disable_after: endpoint.disable_after,
            secrets: endpoint.secrets.iter().cloned().map(SecretDocument::from).collect(),
            headers: endpoint.headers.iter().cloned().map(HeaderDocument::from).collect(),
            created_at: endpoint.created_at.as_nanos(),
            updated_at: endpoint.updated_at.as_nanos(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct PaceDocument {
    concurrency: NonZeroU32,
    #[serde(default)]
    rate: Option<NonZeroU32>,
    /// In parts per million.
    recovery_from: u32,
    recovery_rate: NonZeroU32,
    recovery_over: Span,
}

impl From<Pace> for PaceDocument {
    fn from(pace: Pace) -> Self {
        Self {
            concurrency: pace.concurrency,
            rate: pace.rate,
            recovery_from: pace.recovery.from.ppm(),
            recovery_rate: pace.recovery.rate,
            recovery_over: pace.recovery.over,
        }
    }
}

impl From<PaceDocument> for Pace {
    fn from(document: PaceDocument) -> Self {
        let recovery = Recovery {
            from: Ratio::from_ppm(document.recovery_from),
            rate: document.recovery_rate,
            over: document.recovery_over,
        };
        Self { concurrency: document.concurrency, rate: document.rate, recovery }
    }
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

impl From<Secret> for SecretDocument {
    fn from(secret: Secret) -> Self {
        let kind = match secret.kind {
            SecretKind::Symmetric => KindDocument::Symmetric,
            SecretKind::Asymmetric => KindDocument::Asymmetric,
        };
        Self { kind, key: Base64(secret.key), until: secret.until.map(Instant::as_nanos) }
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

#[derive(Serialize, Deserialize)]
#[serde(default)]
#[derive(Default)]
struct EndpointStateDocument {
    disabled: Option<String>,
    failing_since: Option<u64>,
    paused_until: Option<u64>,
    open_until: Option<u64>,
    open_time: Option<u64>,
    recovering_since: Option<u64>,
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
    use super::*;
    use crate::store::testing::fixture::{app, endpoint as built, ep};

    #[test]
    fn a_document_of_another_release_is_read() {
        let text = of_endpoint(&built(1, 1)).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let fields = document.as_object_mut().unwrap();
        fields.insert("a_later_field".into(), 7.into());
        for missing in ["description", "events", "ordered", "permanent", "headers"] {
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
    fn a_damaged_document_is_an_error() {
        assert!(endpoint(ep(1), app(1), "{}").is_err());
        assert!(endpoint_state("{\"disabled\":\"bored\"}").is_err());
        assert_eq!(endpoint_state("{}").unwrap(), EndpointState::default());
    }
}

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
    Application, ApplicationId, ClosedLink, Endpoint, EndpointId, EndpointState, HeaderTemplate,
    KeyHash, LinkEnd, PortalAccess, PortalLinkId, Secret, SecretKind,
};

use super::encoding::Unreadable;

/// The document of an application.
pub(super) fn of_application(application: &Application) -> Result<String, Unreadable> {
    write(&ApplicationDocument {
        name: application.name.clone(),
        keys: application.keys.iter().map(|key| Base64(key.as_bytes().to_vec())).collect(),
        slots: application.slots,
        created_at: application.created_at.as_nanos(),
        portal: PortalDocument::from(&application.portal),
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
        portal: document.portal.try_into()?,
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
    #[serde(default)]
    portal: PortalDocument,
}

/// An endpoint with what its own form leaves out.
#[derive(Serialize, Deserialize)]
struct EndpointDocument<'e> {
    settings: Cow<'e, Endpoint>,
    secrets: Vec<SecretDocument>,
    #[serde(default)]
    headers: Vec<HeaderDocument>,
}

/// The access of people to a portal.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PortalDocument {
    key: Option<Base64>,
    closed: Vec<ClosedLinkDocument>,
}

#[derive(Serialize, Deserialize)]
struct ClosedLinkDocument {
    id: PortalLinkId,
    until: u64,
    #[serde(default)]
    deleted: bool,
}

impl From<&PortalAccess> for PortalDocument {
    fn from(portal: &PortalAccess) -> Self {
        let link = |link: &ClosedLink| ClosedLinkDocument {
            id: link.id,
            until: link.until.as_nanos(),
            deleted: link.end == LinkEnd::Deleted,
        };
        Self {
            key: portal.key.map(|key| Base64(key.to_vec())),
            closed: portal.closed.iter().map(link).collect(),
        }
    }
}

impl TryFrom<PortalDocument> for PortalAccess {
    type Error = Unreadable;

    fn try_from(document: PortalDocument) -> Result<Self, Unreadable> {
        let key = document.key.map(|key| key.0.try_into()).transpose();
        let link = |link: ClosedLinkDocument| ClosedLink {
            id: link.id,
            until: Instant::from_nanos(link.until),
            end: if link.deleted { LinkEnd::Deleted } else { LinkEnd::Opened },
        };
        Ok(Self {
            key: key.map_err(|_| Unreadable::new("not the key of a portal"))?,
            closed: document.closed.into_iter().map(link).collect(),
        })
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
    use crate::testing::fixture::{app, application as application_of, endpoint as built, ep};

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
    fn an_application_of_a_release_without_portals_is_read() {
        let built = application_of(1);
        let text = of_application(&built).unwrap();
        assert_eq!(application(app(1), &text).unwrap(), built);
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(document.as_object_mut().unwrap().remove("portal").is_some());
        let read = application(app(1), &document.to_string()).unwrap();
        assert_eq!(read, Application { portal: PortalAccess::default(), ..built });
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

//! Settings as JSON documents in a column, so that a new field needs no migration.
//!
//! A document is read leniently: a field that an older release did not write has its default, and a
//! field of a newer release is ignored. Secrets are encrypted if there is a key for them; else a reader of
//! the store can sign.

use std::borrow::Cow;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stagger::{Instant, Span};
use stagger_scheduler::model::{
    Application, ApplicationId, ChannelName, ClosedLink, Endpoint, EndpointAuth, EndpointId,
    EndpointState, EventAttributes, EventValidation, HeaderTemplate, KeyHash, Labels, LinkEnd,
    Message, PortalAccess, PortalLinkId, Secret, SecretKind, TraceContext,
};
use uuid::Uuid;

use super::auth_document::AuthDocument;
use super::encoding::Unreadable;
use super::encryption::{EncryptionKeys, SecretField, SecretPlace};

/// The document of an application.
pub(super) fn of_application(
    application: &Application,
    keys: &EncryptionKeys,
) -> Result<String, Unreadable> {
    write(&ApplicationDocument {
        name: application.name.clone(),
        keys: application.keys.iter().map(|key| Base64(key.as_bytes().to_vec())).collect(),
        slots: application.slots,
        created_at: application.created_at.as_nanos(),
        labels: Cow::Borrowed(&application.labels),
        retention: application.retention.map(Span::as_nanos),
        portal: Sealer::of_application(application.id, keys).portal(&application.portal)?,
        source: application.source.clone(),
        event_validation: application.event_validation,
    })
}

/// The application that a document describes.
pub(super) fn application(
    id: ApplicationId,
    text: &str,
    keys: &EncryptionKeys,
) -> Result<Application, Unreadable> {
    let sealer = Sealer::of_application(id, keys);
    let document: ApplicationDocument<'_> = read(text)?;
    let hashes = document.keys.into_iter().map(|key| key.0.try_into().map(KeyHash::from_bytes));
    Ok(Application {
        id,
        name: document.name,
        keys: hashes
            .collect::<Result<_, _>>()
            .map_err(|_| Unreadable::new("not the hash of a key"))?,
        slots: document.slots,
        created_at: Instant::from_nanos(document.created_at),
        labels: document.labels.into_owned(),
        retention: document.retention.map(Span::from_nanos),
        portal: sealer.open_portal(document.portal)?,
        source: document.source,
        event_validation: document.event_validation,
    })
}

/// The document of an endpoint.
pub(super) fn of_endpoint(
    endpoint: &Endpoint,
    keys: &EncryptionKeys,
) -> Result<String, Unreadable> {
    let sealer = Sealer { keys, application: endpoint.application, endpoint: endpoint.id };
    let secrets = endpoint.secrets.iter().enumerate();
    let headers = endpoint.headers.iter();
    write(&EndpointDocument {
        settings: Cow::Borrowed(endpoint),
        secrets: secrets.map(|(at, it)| sealer.secret(at, it)).collect::<Result<_, _>>()?,
        headers: headers.map(|it| sealer.header(it)).collect::<Result<_, _>>()?,
        auth: endpoint.auth.clone().map(|it| sealer.auth(it)).transpose()?,
    })
}

/// A table of documents that have secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretTable {
    Applications,
    Endpoints,
}

impl SecretTable {
    pub(super) const ALL: [Self; 2] = [Self::Applications, Self::Endpoints];

    /// Its name, and the column with the application of a row.
    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Applications => ("application", "id"),
            Self::Endpoints => ("endpoint", "application"),
        }
    }

    /// A document with its secrets encrypted as they would be now; `None` if they are. All of them are decrypted in any
    /// case.
    pub(super) fn rewritten(
        self,
        id: Uuid,
        application: Uuid,
        text: &str,
        keys: &EncryptionKeys,
    ) -> Result<Option<String>, Unreadable> {
        let application = ApplicationId::from_uuid(application);
        match self {
            Self::Applications => application_rewritten(application, text, keys),
            Self::Endpoints => {
                endpoint_rewritten(EndpointId::from_uuid(id), application, text, keys)
            }
        }
    }
}

fn endpoint_rewritten(
    id: EndpointId,
    application: ApplicationId,
    text: &str,
    keys: &EncryptionKeys,
) -> Result<Option<String>, Unreadable> {
    let endpoint = endpoint(id, application, text, keys)?;
    is_outdated(text, keys)?.then(|| of_endpoint(&endpoint, keys)).transpose()
}

fn application_rewritten(
    id: ApplicationId,
    text: &str,
    keys: &EncryptionKeys,
) -> Result<Option<String>, Unreadable> {
    let application = application(id, text, keys)?;
    let ApplicationDocument { portal, .. } = read(text)?;
    let is_current = portal.key.is_none_or(|key| keys.is_current(&key));
    (!is_current).then(|| of_application(&application, keys)).transpose()
}

/// Whether the document of an endpoint has secrets that are encrypted otherwise than these keys do.
fn is_outdated(text: &str, keys: &EncryptionKeys) -> Result<bool, Unreadable> {
    let SecretParts { secrets, headers, auth } = read(text)?;
    let headers = headers.iter().filter(|header| header.sensitive).map(|header| &header.value);
    let mut fields = secrets.iter().map(|secret| &secret.key).chain(headers);
    let is_current = auth.is_none_or(|auth| keys.is_current(&auth.as_field()));
    Ok(!is_current || fields.any(|field| !keys.is_current(field)))
}

/// The endpoint that a document describes.
pub(super) fn endpoint(
    id: EndpointId,
    application: ApplicationId,
    text: &str,
    keys: &EncryptionKeys,
) -> Result<Endpoint, Unreadable> {
    let EndpointDocument { settings, secrets, headers, auth } = read(text)?;
    let sealer = Sealer { keys, application, endpoint: id };
    let secrets = secrets.into_iter().enumerate();
    let secrets = secrets.map(|(at, it)| sealer.open_secret(at, it)).collect::<Result<_, _>>()?;
    let headers = headers.into_iter().map(|it| sealer.open_header(it));
    let headers = headers.collect::<Result<_, _>>()?;
    let auth = auth.map(|it| sealer.open_auth(it)).transpose()?;
    Ok(Endpoint { id, application, secrets, headers, auth, ..settings.into_owned() })
}

/// The document of a message: what it has beside its columns, if anything.
pub(super) fn of_message(message: &Message) -> Result<Option<String>, Unreadable> {
    if message.trace.is_none() && message.channels.is_empty() && message.attributes.is_empty() {
        return Ok(None);
    }
    let trace = message.trace.as_ref();
    write(&MessageDocument {
        traceparent: trace.map(TraceContext::traceparent),
        tracestate: trace.and_then(|trace| trace.tracestate().map(str::to_owned)),
        channels: Cow::Borrowed(&message.channels),
        attributes: Cow::Borrowed(&message.attributes),
    })
    .map(Some)
}

/// The parts of a message beside its columns.
#[derive(Default)]
pub(super) struct MessageParts {
    pub(super) trace: Option<TraceContext>,
    pub(super) channels: Vec<ChannelName>,
    pub(super) attributes: EventAttributes,
}

/// The parts in the document of a message.
pub(super) fn of_document(text: Option<&str>) -> Result<MessageParts, Unreadable> {
    let Some(text) = text else { return Ok(MessageParts::default()) };
    let MessageDocument { traceparent, tracestate, channels, attributes } = read(text)?;
    let trace = traceparent.and_then(|parent| TraceContext::parse(&parent, tracestate.as_deref()));
    let (channels, attributes) = (channels.into_owned(), attributes.into_owned());
    Ok(MessageParts { trace, channels, attributes })
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
struct ApplicationDocument<'a> {
    name: String,
    keys: Vec<Base64>,
    slots: NonZeroU32,
    created_at: u64,
    #[serde(default, skip_serializing_if = "has_no_labels")]
    labels: Cow<'a, Labels>,
    /// In nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retention: Option<u64>,
    #[serde(default)]
    portal: PortalDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    event_validation: Option<EventValidation>,
}

fn has_no_labels(labels: &Labels) -> bool {
    labels.is_empty()
}

#[derive(Serialize, Deserialize)]
struct MessageDocument<'m> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tracestate: Option<String>,
    #[serde(default, skip_serializing_if = "is_empty")]
    channels: Cow<'m, [ChannelName]>,
    #[serde(default, skip_serializing_if = "has_no_attributes")]
    attributes: Cow<'m, EventAttributes>,
}

fn has_no_attributes(attributes: &EventAttributes) -> bool {
    attributes.is_empty()
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auth: Option<SealedPart<AuthDocument>>,
}

/// The parts of an endpoint's document that have secrets.
#[derive(Deserialize)]
struct SecretParts {
    secrets: Vec<SecretDocument>,
    #[serde(default)]
    headers: Vec<HeaderDocument>,
    #[serde(default)]
    auth: Option<SealedPart<IgnoredAny>>,
}

/// The access of people to a portal.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PortalDocument {
    /// In base64.
    key: Option<SecretField>,
    closed: Vec<ClosedLinkDocument>,
}

#[derive(Serialize, Deserialize)]
struct ClosedLinkDocument {
    id: PortalLinkId,
    until: u64,
    #[serde(default)]
    deleted: bool,
}

#[derive(Serialize, Deserialize)]
struct SecretDocument {
    kind: KindDocument,
    /// In base64.
    key: SecretField,
    #[serde(default)]
    until: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindDocument {
    Symmetric,
    Asymmetric,
}

#[derive(Serialize, Deserialize)]
struct HeaderDocument {
    name: String,
    value: SecretField,
    #[serde(default)]
    sensitive: bool,
}

/// A part of a document that is encrypted as a whole.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SealedPart<T> {
    Sealed { sealed: String },
    Plain(T),
}

impl SealedPart<IgnoredAny> {
    fn as_field(&self) -> SecretField {
        match self {
            Self::Sealed { sealed } => SecretField::Sealed { sealed: sealed.clone() },
            Self::Plain(_) => SecretField::Plain(String::new()),
        }
    }
}

/// The place of an endpoint's credentials.
const AUTH: &str = "auth";

/// The place of the key that signs links to a portal.
const PORTAL_KEY: &str = "portal.key";

/// Writes and reads the secrets of one endpoint, or of an application, which has the nil id in the place of an endpoint's.
struct Sealer<'k> {
    keys: &'k EncryptionKeys,
    application: ApplicationId,
    endpoint: EndpointId,
}

impl<'k> Sealer<'k> {
    const fn of_application(application: ApplicationId, keys: &'k EncryptionKeys) -> Self {
        Self { keys, application, endpoint: EndpointId::from_uuid(Uuid::nil()) }
    }

    fn portal(&self, portal: &PortalAccess) -> Result<PortalDocument, Unreadable> {
        let link = |link: &ClosedLink| ClosedLinkDocument {
            id: link.id,
            until: link.until.as_nanos(),
            deleted: link.end == LinkEnd::Deleted,
        };
        let key = portal.key.map(|key| self.seal(&STANDARD.encode(key), PORTAL_KEY));
        Ok(PortalDocument {
            key: key.transpose()?,
            closed: portal.closed.iter().map(link).collect(),
        })
    }

    fn open_portal(&self, document: PortalDocument) -> Result<PortalAccess, Unreadable> {
        let link = |link: ClosedLinkDocument| ClosedLink {
            id: link.id,
            until: Instant::from_nanos(link.until),
            end: if link.deleted { LinkEnd::Deleted } else { LinkEnd::Opened },
        };
        let open = |key| {
            let bytes = STANDARD.decode(self.open(key, PORTAL_KEY)?).map_err(Unreadable::new)?;
            bytes.try_into().map_err(|_| Unreadable::new("not the key of a portal"))
        };
        Ok(PortalAccess {
            key: document.key.map(open).transpose()?,
            closed: document.closed.into_iter().map(link).collect(),
        })
    }

    fn secret(&self, at: usize, secret: &Secret) -> Result<SecretDocument, Unreadable> {
        let kind = match secret.kind {
            SecretKind::Symmetric => KindDocument::Symmetric,
            SecretKind::Asymmetric => KindDocument::Asymmetric,
        };
        let key = self.seal(&STANDARD.encode(&secret.key), &format!("secrets.{at}"))?;
        Ok(SecretDocument { kind, key, until: secret.until.map(Instant::as_nanos) })
    }

    fn open_secret(&self, at: usize, document: SecretDocument) -> Result<Secret, Unreadable> {
        let kind = match document.kind {
            KindDocument::Symmetric => SecretKind::Symmetric,
            KindDocument::Asymmetric => SecretKind::Asymmetric,
        };
        let key = self.open(document.key, &format!("secrets.{at}"))?;
        let key = STANDARD.decode(key).map_err(Unreadable::new)?;
        Ok(Secret { kind, key, until: document.until.map(Instant::from_nanos) })
    }

    fn header(&self, header: &HeaderTemplate) -> Result<HeaderDocument, Unreadable> {
        let HeaderTemplate { name, value, sensitive } = header.clone();
        let value = match sensitive {
            true => self.seal(&value, &format!("headers.{name}"))?,
            false => SecretField::Plain(value),
        };
        Ok(HeaderDocument { name, value, sensitive })
    }

    fn open_header(&self, document: HeaderDocument) -> Result<HeaderTemplate, Unreadable> {
        let HeaderDocument { name, value, sensitive } = document;
        let value = self.open(value, &format!("headers.{name}"))?;
        Ok(HeaderTemplate { name, value, sensitive })
    }

    fn auth(&self, auth: EndpointAuth) -> Result<SealedPart<AuthDocument>, Unreadable> {
        let document = AuthDocument::from(auth);
        Ok(match self.seal(&write(&document)?, AUTH)? {
            SecretField::Plain(_) => SealedPart::Plain(document),
            SecretField::Sealed { sealed } => SealedPart::Sealed { sealed },
        })
    }

    fn open_auth(&self, part: SealedPart<AuthDocument>) -> Result<EndpointAuth, Unreadable> {
        let document = match part {
            SealedPart::Plain(document) => document,
            SealedPart::Sealed { sealed } => {
                read(&self.open(SecretField::Sealed { sealed }, AUTH)?)?
            }
        };
        Ok(document.into())
    }

    fn seal(&self, text: &str, field: &str) -> Result<SecretField, Unreadable> {
        self.keys.seal(text, &self.place(field))
    }

    fn open(&self, value: SecretField, field: &str) -> Result<String, Unreadable> {
        self.keys.open(value, &self.place(field))
    }

    const fn place<'f>(&self, field: &'f str) -> SecretPlace<'f> {
        let (application, endpoint) = (*self.application.as_uuid(), *self.endpoint.as_uuid());
        SecretPlace { application, endpoint, field }
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
    use stagger_scheduler::model::{EventFilter, EventFormat, SignatureScheme, Statuses};

    use super::*;
    use crate::testing::fixture::{app, application as application_of, endpoint as built, ep};

    #[test]
    fn a_document_of_another_release_is_read() {
        let plain = EncryptionKeys::default();
        let text = of_endpoint(&built(1, 1), &plain).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        for missing in ["headers", "auth"] {
            assert!(document.as_object_mut().unwrap().remove(missing).is_some());
        }
        let fields = document["settings"].as_object_mut().unwrap();
        fields.insert("a_later_field".into(), 7.into());
        for missing in [
            "description",
            "events",
            "channels",
            "filter",
            "ordered",
            "permanent",
            "format",
            "signatures",
            "handshake",
        ] {
            assert!(fields.remove(missing).is_some(), "{missing}");
        }
        let read = endpoint(ep(1), app(1), &document.to_string(), &plain).unwrap();
        let defaults = Endpoint {
            description: String::new(),
            events: EventFilter::All,
            channels: Vec::new(),
            filter: None,
            ordered: false,
            permanent: Statuses::default(),
            format: EventFormat::default(),
            signatures: SignatureScheme::default(),
            handshake: false,
            headers: Vec::new(),
            auth: None,
            ..built(1, 1)
        };
        assert_eq!(read, defaults);
    }

    #[test]
    fn an_application_of_a_release_without_portals_is_read() {
        let built = application_of(1);
        let text = of_application(&built, &EncryptionKeys::default()).unwrap();
        assert_eq!(application(app(1), &text, &EncryptionKeys::default()).unwrap(), built);
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        for missing in ["portal", "source", "event_validation"] {
            assert!(document.as_object_mut().unwrap().remove(missing).is_some());
        }
        let keys = EncryptionKeys::default();
        let read = application(app(1), &document.to_string(), &keys).unwrap();
        let portal = PortalAccess::default();
        assert_eq!(read, Application { portal, source: None, event_validation: None, ..built });
    }

    #[test]
    fn an_endpoint_by_itself_is_written_without_its_secrets_and_headers() {
        let text = serde_json::to_string(&built(1, 1)).unwrap();
        assert!(!text.contains("secret") && !text.contains("header"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_damaged_document_is_an_error() {
        assert!(endpoint(ep(1), app(1), "{}", &EncryptionKeys::default()).is_err());
        assert!(endpoint_state("{\"disabled\":\"bored\"}").is_err());
        assert_eq!(endpoint_state("{}").unwrap(), EndpointState::default());
    }

    #[test]
    fn the_key_of_a_portal_was_written_as_it_is() {
        let keys = EncryptionKeys::parse(&STANDARD.encode([1; 32])).unwrap();
        let (plain, built) = (EncryptionKeys::default(), application_of(1));
        let key = STANDARD.encode(built.portal.key.unwrap());
        let text = of_application(&built, &keys).unwrap();
        assert!(!text.contains(&key), "{text}");
        assert_eq!(application(app(1), &text, &keys).unwrap(), built);
        assert!(application(app(1), &text, &plain).is_err());
        assert!(application(app(2), &text, &keys).is_err(), "it was moved to another one");
        assert_eq!(application_rewritten(app(1), &text, &keys).unwrap(), None);
        let text = of_application(&built, &plain).unwrap();
        assert!(text.contains(&key));
        let rewritten = application_rewritten(app(1), &text, &keys).unwrap().unwrap();
        assert_eq!(application(app(1), &rewritten, &keys).unwrap(), built);
    }

    #[test]
    fn a_secret_of_an_endpoint_was_written_as_it_is() {
        let key = STANDARD.encode([1; 32]);
        let keys = EncryptionKeys::parse(&key).unwrap();
        let mut whole = built(1, 1);
        whole.headers[0].value = "Bearer hunter2".into();
        for secret in &mut whole.secrets {
            secret.key = b"hunter2-hunter2-hunter2".to_vec();
        }
        let text = of_endpoint(&whole, &keys).unwrap();
        assert!(!text.contains("hunter2") && !text.contains(&STANDARD.encode(b"hunter2-")[..8]));
        assert_eq!(endpoint(ep(1), app(1), &text, &keys).unwrap(), whole);
        assert!(endpoint(ep(2), app(1), &text, &keys).is_err(), "of another endpoint");
        assert!(endpoint(ep(1), app(2), &text, &keys).is_err(), "of another application");
        let plain = EncryptionKeys::default();
        assert!(endpoint(ep(1), app(1), &text, &plain).is_err());
        assert!(!is_outdated(&text, &keys).unwrap() && is_outdated(&text, &plain).unwrap());
        let text = of_endpoint(&whole, &plain).unwrap();
        assert!(is_outdated(&text, &keys).unwrap() && !is_outdated(&text, &plain).unwrap());
        assert_eq!(endpoint(ep(1), app(1), &text, &keys).unwrap(), whole);
    }
}

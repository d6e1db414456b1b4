//! Applications, tenants with keys and endpoints of their own, and their messages: events, each stored once.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use stagger_core::{ConfigError, Instant, Span};

use super::{
    ApplicationId, ChannelName, EndpointId, EventAttributes, EventValidation, Labels, MessageId,
    PortalAccess, TraceContext,
};

/// A tenant. Nothing of one application is visible to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name in the API.
    pub id: ApplicationId,
    /// A name for people: 1 to 200 characters.
    pub name: String,
    /// The keys that may act for it. The keys themselves are not kept.
    pub keys: Vec<KeyHash>,
    /// The most attempts in flight for all its endpoints together.
    pub slots: NonZeroU32,
    /// The time at which it was created.
    pub created_at: Instant,
    /// The caller's own id for it, and metadata.
    pub labels: Labels,
    /// The access of its people to its portal.
    pub portal: PortalAccess,
    /// The time for which its finished messages are kept, if that is shorter than the node's.
    pub retention: Option<Span>,
    /// The source of its events, a URI reference, where a message names none.
    pub source: Option<String>,
    /// The checks of its messages; `None` are those of the dispatcher.
    pub event_validation: Option<EventValidation>,
}

impl Application {
    /// An application without keys and labels.
    #[must_use]
    pub fn new(
        id: ApplicationId,
        name: impl Into<String>,
        slots: NonZeroU32,
        created_at: Instant,
    ) -> Self {
        let (name, keys) = (name.into(), Vec::new());
        let (labels, portal) = (Labels::default(), PortalAccess::default());
        Self {
            id,
            name,
            keys,
            slots,
            created_at,
            labels,
            portal,
            retention: None,
            source: None,
            event_validation: None,
        }
    }
}

/// The SHA-256 of an API key. Keys are 256 random bits, so that no slow hash is needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// The hash of `key`.
    #[must_use]
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// The hash with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

/// Longest key: that of the field's usual services.
const MAX_KEY: usize = 255;

/// A message without its payload, which is kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name: the `webhook-id` of every attempt.
    pub id: MessageId,
    /// The application that sent it.
    pub application: ApplicationId,
    /// The event type.
    pub event_type: EventType,
    /// The sender's own name for it.
    pub key: Option<IdempotencyKey>,
    /// The `Content-Type` it is sent with.
    pub content_type: String,
    /// Bytes of the payload.
    pub size: usize,
    /// The time at which it was accepted.
    pub created_at: Instant,
    /// The channels that it is in, sorted.
    pub channels: Vec<ChannelName>,
    /// The trace of its producer, which attempts continue.
    pub trace: Option<TraceContext>,
    /// Its attributes as an event.
    pub attributes: EventAttributes,
}

/// A message on its way into the store, with everything that becomes durable together.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The message.
    pub message: Message,
    /// Its bytes, as they came and as they will be sent.
    pub payload: Bytes,
    /// The endpoints that receive it.
    pub endpoints: Vec<EndpointId>,
}

/// An idempotency key: a message sent twice with the same key is accepted once. 1 to 255 visible
/// ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let visible = text.bytes().all(|b| matches!(b, b' '..=b'~'));
        if text.is_empty() || text.len() > MAX_KEY || !visible {
            return Err(ConfigError::new(
                "idempotency_key",
                text,
                "1 to 255 visible ASCII characters",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Longest type; the same bound as for an id in a URL, so that one can be shown in the other.
const MAX_LEN: usize = 128;

/// Words of letters, digits, `_` and `-`, joined by full stops: `invoice.paid`.
///
/// Types under `stagger.` are the dispatcher's own: applications cannot send them, and only
/// endpoints that name them receive them.
///
/// ```
/// use stagger_scheduler::model::EventType;
/// let paid: EventType = "invoice.paid".parse()?;
/// assert!(!paid.is_operational());
/// assert!("invoice..paid".parse::<EventType>().is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventType(Arc<str>);

impl EventType {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is an operational event of the dispatcher.
    #[must_use]
    pub fn is_operational(&self) -> bool {
        self.0.starts_with("stagger.")
    }
}

impl FromStr for EventType {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let word = |w: &str| !w.is_empty() && w.bytes().all(is_word_byte);
        if text.len() > MAX_LEN || !text.split('.').all(word) {
            let bound =
                "words of letters, digits, _ and - joined by full stops, at most 128 in all";
            return Err(ConfigError::new("event_type", text, bound));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

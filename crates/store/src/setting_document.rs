//! Settings of the whole installation that are kept as documents: event types and API keys.

use std::fmt;

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// An API key, by its id.
    ApiKey,
    /// An event type of the catalogue, by its name.
    EventType,
}

/// The name of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentKey {
    /// Its kind.
    pub kind: DocumentKind,
    /// Its id among those of its kind: at most 128 visible ASCII characters.
    pub id: String,
}

/// A document of the installation. The dispatcher reads its text; the store does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDocument {
    /// Its name.
    pub key: DocumentKey,
    /// Its JSON.
    pub text: String,
    /// The day of its last use, in days since 1970, UTC. Writing a document leaves it as it is.
    pub used_on: Option<u32>,
}

impl DocumentKind {
    const ALL: [Self; 2] = [Self::ApiKey, Self::EventType];

    /// Its name in the store.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::EventType => "event_type",
        }
    }

    /// The kind with this name; none for a kind of a later release, which this one leaves alone.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl DocumentKey {
    /// The name of a document.
    pub fn new(kind: DocumentKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.id)
    }
}

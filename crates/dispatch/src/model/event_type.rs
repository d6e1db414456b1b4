//! The type of a message: the kind of event, to which endpoints subscribe.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Error;

/// Longest type; the same bound as for an id in a URL, so that one can be shown in the other.
const MAX_LEN: usize = 128;

/// Words of letters, digits, `_` and `-`, joined by full stops: `invoice.paid`.
///
/// Types under `stagger.` are the dispatcher's own: applications cannot send them, and only
/// endpoints that name them receive them.
///
/// ```
/// use stagger_dispatch::model::EventType;
/// let paid: EventType = "invoice.paid".parse()?;
/// assert!(!paid.is_operational());
/// assert!("invoice..paid".parse::<EventType>().is_err());
/// # Ok::<(), stagger_dispatch::Error>(())
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
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let word = |w: &str| !w.is_empty() && w.bytes().all(is_word_byte);
        if text.len() > MAX_LEN || !text.split('.').all(word) {
            let bound =
                "words of letters, digits, _ and - joined by full stops, at most 128 in all";
            return Err(Error::invalid("event_type", text, bound));
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

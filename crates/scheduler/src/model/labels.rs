//! The names and notes that callers give to applications and endpoints: an id of their own, and metadata.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stagger_core::ConfigError;

/// Longest id, in bytes.
const MAX_ID: usize = 128;
/// Most entries of metadata, and the longest name and value, in bytes: they are kept in memory with their owner.
const MAX_ENTRIES: usize = 20;
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 512;

/// The labels of an application or an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// The caller's own id: unique among applications, or among the endpoints of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<ExternalId>,
    /// Texts by name, for the caller's own use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl Labels {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.uid.is_none() && self.metadata.is_empty()
    }

    /// Checks the bounds of the metadata: at most 20 entries, with names of 1 to 64 letters, digits, `_`, `-` and full
    /// stops, and values of at most 512 bytes.
    ///
    /// # Errors
    /// `metadata`: it is out of these bounds.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.metadata.len() > MAX_ENTRIES {
            return Err(ConfigError::new("metadata", self.metadata.len(), "at most 20 entries"));
        }
        for (name, value) in &self.metadata {
            let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
            if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_allowed) {
                let bound = "under names of 1 to 64 letters, digits, _, - and full stops";
                return Err(ConfigError::new("metadata", name, bound));
            }
            if value.len() > MAX_VALUE {
                let bound = format!("values of at most 512 bytes (under {name})");
                return Err(ConfigError::new("metadata", value.len(), bound));
            }
        }
        Ok(())
    }
}

/// An id that a caller gives: 1 to 128 letters, digits, and `_`, `-`, `.`, `:` or `@`.
///
/// ```
/// use stagger_scheduler::model::ExternalId;
/// assert!("customer-17@eu".parse::<ExternalId>().is_ok());
/// assert!("a/b".parse::<ExternalId>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExternalId(Arc<str>);

impl ExternalId {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ExternalId {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let is_allowed =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':' | b'@');
        if text.is_empty() || text.len() > MAX_ID || !text.bytes().all(is_allowed) {
            let bound = "1 to 128 letters, digits, _, -, full stops, colons and @";
            return Err(ConfigError::new("uid", text, bound));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for ExternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ExternalId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ExternalId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(entries: impl IntoIterator<Item = (String, String)>) -> Labels {
        Labels { uid: None, metadata: entries.into_iter().collect() }
    }

    #[test]
    fn metadata_out_of_its_bounds_was_kept() {
        let entry = |n: usize| (format!("n{n}"), "v".to_owned());
        assert!(labels((0..20).map(entry)).check().is_ok());
        assert!(labels((0..21).map(entry)).check().is_err());
        for (name, value) in
            [("", "v"), ("a b", "v"), (&"n".repeat(65), "v"), ("a", &"v".repeat(513))]
        {
            let error = labels([(name.to_owned(), value.to_owned())]).check().expect_err(name);
            assert_eq!(error.field(), "metadata");
        }
    }

    #[test]
    fn an_id_that_a_path_cannot_hold_was_accepted() {
        for text in ["", "a/b", "a b", "ä", &"a".repeat(129)] {
            assert!(text.parse::<ExternalId>().is_err(), "{text}");
        }
        assert_eq!("a:b@c".parse::<ExternalId>().unwrap().as_str(), "a:b@c");
    }
}

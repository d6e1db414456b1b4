//! The format in which an endpoint gets messages.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use stagger_core::ConfigError;

/// The format of an endpoint's attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventFormat {
    /// The payload, as it came.
    #[default]
    #[serde(rename = "plain")]
    Plain,
    /// `CloudEvents` 1.0.2 in binary mode: the payload, and attributes in headers.
    #[serde(rename = "cloudevents-binary")]
    CloudEventsBinary,
    /// `CloudEvents` 1.0.2 in structured mode: one JSON object of attributes and payload.
    #[serde(rename = "cloudevents-structured")]
    CloudEventsStructured,
}

impl EventFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::CloudEventsBinary, Self::CloudEventsStructured];

    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::CloudEventsBinary => "cloudevents-binary",
            Self::CloudEventsStructured => "cloudevents-structured",
        }
    }

    /// Whether it is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for EventFormat {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let bound = "plain, cloudevents-binary or cloudevents-structured";
        let found = Self::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| ConfigError::new("format", text, bound))
    }
}

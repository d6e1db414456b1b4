//! The checks of messages against the catalogue of event types.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use stagger_core::ConfigError;

/// The checks that a message passes before it is accepted.
///
/// ```
/// use stagger_scheduler::model::EventValidation;
/// assert_eq!("schema".parse(), Ok(EventValidation::Schema));
/// assert_eq!(EventValidation::default(), EventValidation::Off);
/// assert!("strict".parse::<EventValidation>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventValidation {
    /// None: the default.
    #[default]
    Off,
    /// Its event type is in the catalogue.
    Known,
    /// Its event type is in the catalogue, and its payload matches the schema of the type, if that has one.
    Schema,
}

impl EventValidation {
    /// All of them, the one that refuses least first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Known, Self::Schema];

    /// Its name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Known => "known",
            Self::Schema => "schema",
        }
    }
}

impl FromStr for EventValidation {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let named = Self::ALL.into_iter().find(|it| it.name() == text);
        named.ok_or_else(|| ConfigError::new("event_validation", text, "off, known or schema"))
    }
}

impl fmt::Display for EventValidation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

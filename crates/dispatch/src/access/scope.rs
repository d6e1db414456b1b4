//! The scopes of API keys: each gives access to some operations of the API.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Error;

/// The permission of an API key for some operations. A key may do what its scopes give, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Everything.
    Admin,
    /// Reads applications.
    ApplicationsRead,
    /// Changes and deletes applications.
    ApplicationsWrite,
    /// Reads the audit log.
    AuditRead,
    /// Cancels, retries and replays deliveries.
    DeliveriesWrite,
    /// Reads endpoints, without their secrets.
    EndpointsRead,
    /// Makes, changes, tests and deletes endpoints, and reads their secrets.
    EndpointsWrite,
    /// Reads the catalogue of event types.
    EventTypesRead,
    /// Changes the catalogue of event types.
    EventTypesWrite,
    /// Reads messages with their payloads, deliveries and attempts.
    MessagesRead,
    /// Sends and deletes messages.
    MessagesWrite,
}

impl Scope {
    /// All of them, by name.
    pub(crate) const ALL: [Self; 11] = [
        Self::Admin,
        Self::ApplicationsRead,
        Self::ApplicationsWrite,
        Self::AuditRead,
        Self::DeliveriesWrite,
        Self::EndpointsRead,
        Self::EndpointsWrite,
        Self::EventTypesRead,
        Self::EventTypesWrite,
        Self::MessagesRead,
        Self::MessagesWrite,
    ];

    /// Its name in the API.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::ApplicationsRead => "applications:read",
            Self::ApplicationsWrite => "applications:write",
            Self::AuditRead => "audit:read",
            Self::DeliveriesWrite => "deliveries:write",
            Self::EndpointsRead => "endpoints:read",
            Self::EndpointsWrite => "endpoints:write",
            Self::EventTypesRead => "event_types:read",
            Self::EventTypesWrite => "event_types:write",
            Self::MessagesRead => "messages:read",
            Self::MessagesWrite => "messages:write",
        }
    }

    /// Whether it can be given to a key that is limited to one application: the others are about all of them.
    pub(crate) const fn is_of_one_application(self) -> bool {
        !matches!(
            self,
            Self::Admin | Self::AuditRead | Self::EventTypesRead | Self::EventTypesWrite
        )
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let named = Self::ALL.into_iter().find(|scope| scope.name() == text);
        named.ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            Error::invalid("scopes", text, format!("one of {all}"))
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

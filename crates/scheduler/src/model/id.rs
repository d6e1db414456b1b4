//! Ids: a prefix for the kind, and 128 bits that sort by creation time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stagger_core::ConfigError;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $field:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// The id with these bits.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Its bits.
            #[must_use]
            pub const fn as_uuid(&self) -> &Uuid {
                &self.0
            }

            /// Its bytes, in the order that sorts by creation time.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ConfigError;

            fn from_str(text: &str) -> Result<Self, ConfigError> {
                parse(text, concat!($prefix, "_"))
                    .map(Self)
                    .ok_or_else(|| ConfigError::new($field, text, BOUND.replace("ID", $prefix)))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// The name of an application.
    ///
    /// ```
    /// use stagger_scheduler::model::ApplicationId;
    /// let id: ApplicationId = "app_0190163d8694739b84f6b0d3ccc3a5a1".parse()?;
    /// assert_eq!(id.to_string(), "app_0190163d8694739b84f6b0d3ccc3a5a1");
    /// assert!("ep_0190163d8694739b84f6b0d3ccc3a5a1".parse::<ApplicationId>().is_err());
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    ApplicationId, "app", "application"
);
id!(
    /// The name of an endpoint.
    EndpointId, "ep", "endpoint"
);
id!(
    /// The name of a message: the `webhook-id` that receivers see, the same on every attempt.
    MessageId, "msg", "message"
);
id!(
    /// The name of a link to an application's portal.
    PortalLinkId, "link", "link"
);
id!(
    /// The name of an API key, which is no secret.
    ApiKeyId, "key", "key"
);

const BOUND: &str = "ID_ and 32 hexadecimal digits";

fn parse(text: &str, prefix: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?;
    let plain = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if plain { Uuid::try_parse(digits).ok() } else { None }
}

//! The signatures that an endpoint gets.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use stagger_core::ConfigError;

/// The scheme by which the attempts of an endpoint are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureScheme {
    /// Standard Webhooks 1.0.0, over id, timestamp and body.
    #[default]
    StandardWebhooks,
    /// HTTP Message Signatures (RFC 9421), over method, URL, headers and the digest of the body (RFC 9530).
    HttpMessageSignatures,
    /// Both: for a receiver that moves from one to the other.
    Both,
}

impl SignatureScheme {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::StandardWebhooks, Self::HttpMessageSignatures, Self::Both];

    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StandardWebhooks => "standard-webhooks",
            Self::HttpMessageSignatures => "http-message-signatures",
            Self::Both => "both",
        }
    }

    /// Whether attempts have the signatures of Standard Webhooks.
    #[must_use]
    pub const fn has_standard(self) -> bool {
        matches!(self, Self::StandardWebhooks | Self::Both)
    }

    /// Whether attempts have HTTP Message Signatures.
    #[must_use]
    pub const fn has_message_signatures(self) -> bool {
        matches!(self, Self::HttpMessageSignatures | Self::Both)
    }

    /// Whether it is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for SignatureScheme {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let bound = "standard-webhooks, http-message-signatures or both";
        let found = Self::ALL.into_iter().find(|scheme| scheme.name() == text);
        found.ok_or_else(|| ConfigError::new("signatures", text, bound))
    }
}

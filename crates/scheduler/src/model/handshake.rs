//! The consent of an endpoint to deliveries (`CloudEvents` web hooks 1.0.2 section 4).

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use stagger_core::Instant;

use super::nanos;

/// What an endpoint answered to the request for its consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum HandshakeResult {
    /// It consents.
    Granted {
        /// The most deliveries a minute, if it bounds them.
        rate: Option<NonZeroU32>,
    },
    /// It does not consent, or gave no answer.
    Refused {
        /// The status of its reply, if there was one.
        status: Option<u16>,
    },
}

/// The last handshake with an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// Its result.
    #[serde(flatten)]
    pub result: HandshakeResult,
    /// The time at which this result was first seen.
    #[serde(with = "nanos")]
    pub at: Instant,
}

impl HandshakeResult {
    /// The most deliveries a minute, if the endpoint has bounded them.
    #[must_use]
    pub const fn rate(self) -> Option<NonZeroU32> {
        match self {
            Self::Granted { rate } => rate,
            Self::Refused { .. } => None,
        }
    }

    /// Whether the endpoint consents.
    #[must_use]
    pub const fn is_granted(self) -> bool {
        matches!(self, Self::Granted { .. })
    }
}

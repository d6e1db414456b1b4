//! An application: a tenant, with keys, endpoints and messages of its own.

use std::fmt;
use std::num::NonZeroU32;

use sha2::{Digest, Sha256};
use stagger::Instant;

use super::ApplicationId;

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

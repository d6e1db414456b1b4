//! A signing secret of an endpoint, as Standard Webhooks 1.0.0 writes it.

use std::fmt;

use stagger::Instant;

/// A key to sign with. Its text begins with `whsec_` (HMAC-SHA256) or `whsk_` (ed25519).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Which signature it makes.
    pub kind: SecretKind,
    /// The bytes of the key: 16 to 64 for HMAC-SHA256, the 32 of the seed for ed25519.
    pub key: Vec<u8>,
    /// When it stops signing, if it was replaced.
    pub until: Option<Instant>,
}

/// The signature schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// `v1`: HMAC-SHA256.
    Symmetric,
    /// `v1a`: ed25519.
    Asymmetric,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("kind", &self.kind)
            .field("key", &"..")
            .field("until", &self.until)
            .finish()
    }
}

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// No randomness.
    pub fn generate(kind: SecretKind) -> Result<Self, crate::Error> {
        let _ = kind;
        unimplemented!()
    }

    /// One's own.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, crate::Error> {
        let _ = text;
        unimplemented!()
    }

    /// Whether it still signs.
    #[must_use]
    pub fn signs_at(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// What a receiver verifies with.
    #[must_use]
    pub fn public_text(&self) -> Option<String> {
        unimplemented!()
    }

    /// Its text.
    #[must_use]
    pub fn to_text(&self) -> String {
        unimplemented!()
    }
}

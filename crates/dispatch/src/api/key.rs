//! The keys of applications.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::Error;
use crate::model::KeyHash;
use crate::sign::os_bytes;

/// Random bytes of a key: as many as its hash has, so that neither can be guessed.
const BYTES: usize = 32;

/// A new key: shown once, and kept as its hash only.
pub(super) struct ApiKey(String);

impl ApiKey {
    /// A new random key.
    ///
    /// # Errors
    /// The system has no random bytes to give.
    pub(super) fn make() -> Result<Self, Error> {
        let bytes = os_bytes::<BYTES>()?;
        Ok(Self(format!("sk_{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    pub(super) fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }

    pub(super) fn reveal(self) -> String {
        self.0
    }
}

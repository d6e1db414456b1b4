//! The idempotency key of a message: the sender's own name for it.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// Longest key: that of the field's usual services.
const MAX_LEN: usize = 255;

/// An idempotency key: a message sent twice with the same key is accepted once. 1 to 255 visible
/// ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let visible = text.bytes().all(|b| matches!(b, b' '..=b'~'));
        if text.is_empty() || text.len() > MAX_LEN || !visible {
            return Err(Error::invalid(
                "idempotency_key",
                text,
                "1 to 255 visible ASCII characters",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

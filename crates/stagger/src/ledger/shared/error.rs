//! Why a store cannot be used at all.

use std::error::Error as StdError;
use std::fmt;

/// A store that will never answer as it is set up: a wrong address, a wrong password.
///
/// A store that is unreachable is no error: it may come back. No password is ever part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    place: String,
    reason: String,
}

impl StoreError {
    pub(super) fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }

    /// The store, and the user that asked it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl StdError for StoreError {}

//! Why a change did not come about.

use std::path::Path;

use crate::Error;
use crate::store::unreadable::Unreadable;

/// A failed change.
#[derive(Debug)]
pub(super) enum DbError {
    /// A conflict with the existing state. It has changed nothing, and its transaction continues.
    Refused(Error),
    /// The database failed; nothing of its transaction holds.
    Broken(rusqlite::Error),
}

impl From<Error> for DbError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Unreadable> for DbError {
    fn from(error: Unreadable) -> Self {
        Self::Broken(error.into())
    }
}

/// Converts a failure of the database to an error.
pub(super) fn failed(error: &rusqlite::Error) -> Error {
    Error::store(error.to_string())
}

/// A failure that has to do with a file.
pub(super) fn failed_at(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::store(format!("{}: {error}", path.display()))
}

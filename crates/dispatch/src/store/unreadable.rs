//! The reasons for which a store cannot be read: values of another release, an interrupted copy.

use std::fmt;

use crate::Error;

/// A value that does not fit its column, and the reason.
#[derive(Debug)]
pub(super) struct Unreadable(String);

impl Unreadable {
    pub(super) fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }

    /// A name or number that means nothing here.
    pub(super) fn unknown(what: &'static str, value: impl fmt::Display) -> Self {
        Self(format!("unknown {what} {value}"))
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

/// The error on opening a store into which a copy was interrupted.
pub(super) fn cut_short() -> Error {
    Error::store("a copy into this store was interrupted: delete its contents, and copy again")
}

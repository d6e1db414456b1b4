//! Stored values that this release cannot read or write.

use std::fmt;

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

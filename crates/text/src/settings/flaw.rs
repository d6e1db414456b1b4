//! A mistake in a file, and its place.

use std::ops::Range;

use crate::position;

/// A mistake, with the bytes of the text that it lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    at: Range<usize>,
    message: String,
}

impl Flaw {
    /// A mistake in these bytes of the text.
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// The mistake, without its place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The bytes of the text that it lies in.
    #[must_use]
    pub const fn at(&self) -> &Range<usize> {
        &self.at
    }

    /// File, line, column and the mistake in one line, for logs.
    #[must_use]
    pub fn line(&self, file: &str, text: &str) -> String {
        let (line, column) = position(text, self.at.start);
        format!("{file}:{line}:{column}: {}", self.message)
    }
}

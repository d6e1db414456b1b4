//! Errors of structured fields: the place of the mistake and the text that was expected.

use core::fmt;

/// Text that is no structured field, or a value that cannot be written as one.
///
/// ```
/// use stagger_core::hint::structured::Item;
/// let error = Item::parse(b"\"open").unwrap_err();
/// assert_eq!(error.to_string(), "byte 5: expected the closing quote");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructuredError {
    at: Option<usize>,
    expected: &'static str,
}

impl StructuredError {
    pub(super) const fn parse(at: usize, expected: &'static str) -> Self {
        Self { at: Some(at), expected }
    }

    pub(super) const fn serialize(expected: &'static str) -> Self {
        Self { at: None, expected }
    }

    /// The byte of the text at which parsing ended; nothing when a value could not be written.
    #[must_use]
    pub const fn at(&self) -> Option<usize> {
        self.at
    }
}

impl fmt::Display for StructuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, "byte {at}: ")?;
        }
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for StructuredError {}

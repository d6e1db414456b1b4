//! Hints in milliseconds: `retry-after-ms`, `x-ms-retry-after-ms` and `x-amz-retry-after`.

use super::{blanks, decimal};
use crate::Span;

/// Reads a hint in milliseconds: digits, or digits with a fraction; outer blanks do not count.
///
/// Rounded up to the nanosecond; anything else is no hint.
///
/// ```
/// use stagger_core::{Span, hint::retry_after_ms};
/// assert_eq!(retry_after_ms(b"1500"), Some(Span::from_millis(1_500)));
/// assert_eq!(retry_after_ms(b"0.25"), Some(Span::from_micros(250)));
/// assert_eq!(retry_after_ms(b"-100"), None);
/// ```
#[must_use]
pub fn retry_after_ms(value: &[u8]) -> Option<Span> {
    decimal::span(blanks::trim(value), decimal::MILLIS)
}

//! The encoding of times and sizes in columns of 64 signed bits, in every store.

use stagger::{Instant, Span};

/// An instant, kept as its 64 bits.
pub(super) const fn from_instant(instant: Instant) -> i64 {
    instant.as_nanos().cast_signed()
}

/// The instant with these bits.
pub(super) const fn instant(bits: i64) -> Instant {
    Instant::from_nanos(bits.cast_unsigned())
}

/// A span, kept as its 64 bits.
pub(super) const fn from_span(span: Span) -> i64 {
    span.as_nanos().cast_signed()
}

/// The span with these bits.
pub(super) const fn span(bits: i64) -> Span {
    Span::from_nanos(bits.cast_unsigned())
}

/// A number of bytes or rows.
pub(super) fn from_size(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

//! The way between a caller and the backend.

use stagger_core::Span;

/// The time that an attempt or an answer is under way, one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hop {
    /// No time at all.
    #[default]
    None,
    /// Always the same.
    Fixed(Span),
    /// Exponentially distributed around this mean.
    Exponential(Span),
}

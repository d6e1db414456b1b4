//! Numbers as the page and the pictures show them: groups apart by a narrow blank that breaks no line.

use stagger_core::Instant;
use stagger_text::NARROW_NO_BREAK;

/// A whole number in groups of three: `20 000`.
pub(crate) fn grouped(value: f64) -> String {
    stagger_text::grouped(value, NARROW_NO_BREAK)
}

/// A number with as many digits as say something: `0.35`, `12.9`, `15 500`.
pub(crate) fn number(value: f64) -> String {
    stagger_text::number(value, NARROW_NO_BREAK)
}

/// Seconds with their unit.
pub(crate) fn seconds(value: f64) -> String {
    format!("{} s", number(value))
}

/// The distance of an instant from the origin, in seconds.
pub(crate) fn secs(at: Instant) -> f64 {
    (at - Instant::ORIGIN).as_secs_f64()
}

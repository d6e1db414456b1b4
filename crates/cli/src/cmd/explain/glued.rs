//! Figures in sentences, which no line break tears apart.

use stagger_core::Span;

/// The blank that holds a figure together.
pub(super) const BLANK: char = stagger_text::NO_BREAK;

/// A span with three digits and one unit.
pub(super) fn brief(span: Span) -> String {
    glued(&stagger_text::brief(span))
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    glued(&stagger_text::percent(share))
}

/// A whole number in groups of three.
pub(super) fn grouped(value: f64) -> String {
    stagger_text::grouped(value, BLANK)
}

fn glued(text: &str) -> String {
    text.replace(' ', &BLANK.to_string())
}

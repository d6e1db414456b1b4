//! Figures in sentences, which no line break tears apart.

use stagger_core::Span;

use crate::render;

/// The blank that holds a figure together.
pub(super) const BLANK: char = '\u{a0}';

/// A span with three digits and one unit.
pub(super) fn brief(span: Span) -> String {
    glued(&render::brief(span))
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    glued(&render::percent(share))
}

/// A whole number in groups of three.
pub(super) fn grouped(value: f64) -> String {
    glued(&render::grouped(value))
}

fn glued(text: &str) -> String {
    text.replace(' ', &BLANK.to_string())
}

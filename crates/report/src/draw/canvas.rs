//! A list of shapes in the order in which they are drawn.

use crate::style::{Dash, Dot, Ink, Weight};

/// Shapes on a rectangle; lengths are in points, y grows downwards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Canvas {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) items: Vec<Item>,
}

/// One shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// An open line through points.
    Line { points: Vec<(f64, f64)>, paint: Paint, width: f64, dash: Dash },
    /// A closed area within points.
    Area { points: Vec<(f64, f64)>, ink: Ink, weight: Weight },
    /// A rectangle: left, top, width, height.
    Rect { place: [f64; 4], paint: Paint, weight: Weight },
    /// Many small dots of one colour.
    Dust { points: Vec<(f64, f64)>, ink: Ink },
    /// One dot of some form around its middle.
    Dot { at: (f64, f64), dot: Dot, ink: Ink },
    /// A line of text on its baseline.
    Text { at: (f64, f64), text: String, size: f64, anchor: Anchor, paint: Paint, bold: bool },
}

/// A colour, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Ink(Ink),
    /// Lines of axes and grids.
    Rule,
    /// Behind an outage.
    Shade,
    /// Behind what never happens.
    Never,
    /// A cell of a heat map, from 0 (no run healed) to 4 (all did).
    Healed(u8),
    /// Text on such a cell.
    OnHealed(u8),
}

/// The part of a text that stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(crate) const fn new(width: f64) -> Self {
        Self { width, height: 0.0, items: Vec::new() }
    }

    /// A thin line of an axis or a grid.
    pub(super) fn rule(&mut self, from: (f64, f64), to: (f64, f64)) {
        let points = vec![from, to];
        self.items.push(Item::Line { points, paint: Paint::Rule, width: 1.0, dash: Dash::Solid });
    }

    /// Text in the colour of what stands back.
    pub(super) fn soft(&mut self, at: (f64, f64), text: &str, size: f64, anchor: Anchor) {
        self.text(at, text, size, anchor, Paint::Ink(Ink::Soft), false);
    }

    pub(super) fn text(
        &mut self,
        at: (f64, f64),
        text: &str,
        size: f64,
        anchor: Anchor,
        paint: Paint,
        bold: bool,
    ) {
        if !text.is_empty() {
            self.items.push(Item::Text { at, text: text.to_owned(), size, anchor, paint, bold });
        }
    }
}

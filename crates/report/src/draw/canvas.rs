//! A canvas: its room, shapes in the order in which they are drawn, and the width of text, near enough in whatever font.

use crate::chart::ChartKind;
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

/// The room for a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Width of the canvas, in points.
    pub(crate) width: f64,
    /// Whether title and caption are drawn, as a file of its own needs.
    pub(crate) titled: bool,
}

/// Size of the numbers on axes.
pub(super) const SMALL: f64 = 11.0;
/// Size of the names of panels and keys.
pub(super) const NORMAL: f64 = 12.0;
/// Room to the right of the panels, for half a number.
pub(super) const RIGHT: f64 = 14.0;

impl Frame {
    /// A column of text on a screen.
    pub(crate) const WIDE: Self = Self { width: 760.0, titled: false };
    /// A telephone of 360 points with its margins.
    pub(crate) const NARROW: Self = Self { width: 328.0, titled: false };
    /// A file of its own.
    pub(crate) const FILE: Self = Self { width: 800.0, titled: true };

    pub(super) const fn is_narrow(&self) -> bool {
        self.width < 500.0
    }

    /// Panels side by side.
    pub(super) fn columns(&self, kind: ChartKind, panels: usize) -> usize {
        let most = match (kind, self.is_narrow()) {
            (ChartKind::Strips | ChartKind::Lines, _) => 1,
            (_, false) => 3,
            (ChartKind::Cells, true) => 1,
            (_, true) => 2,
        };
        most.min(panels.max(1))
    }

    /// Height of a panel's plane.
    pub(super) fn height(&self, kind: ChartKind, panels: usize) -> f64 {
        match (kind, self.is_narrow()) {
            (ChartKind::Strips, false) => 26.0,
            (ChartKind::Strips, true) => 22.0,
            (ChartKind::Areas, _) if panels == 1 => 200.0,
            (ChartKind::Areas, false) => 92.0,
            (ChartKind::Areas, true) => 76.0,
            (ChartKind::Lines, _) if panels > 1 => 190.0,
            (ChartKind::Lines, false) => 330.0,
            (ChartKind::Lines, true) => 270.0,
            (ChartKind::Cells, _) => 160.0,
            (ChartKind::Paths, false) => 160.0,
            (ChartKind::Paths, true) => 120.0,
        }
    }
}

/// The width in points. A bound from above for the usual sans-serif fonts, so that nothing meets.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(share).sum::<f64>() * size
}

/// The width of a character in sizes of the font.
fn share(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'f' | 't' | 'r' | '.' | ',' | ':' | '\'' | ' ' | '|' | '-' => 0.36,
        '\u{202f}' => 0.2,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '—' => 0.92,
        'A'..='Z' => 0.68,
        _ => 0.6,
    }
}

/// The text, cut off with an ellipsis where it is wider than this.
pub(super) fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut left = most - share('…') * size;
    let fits = |c: &char| {
        left -= share(*c) * size;
        left >= 0.0
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// The text in lines of at most this width, broken at blanks.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size * 0.36 <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_does_not_fit_says_so() {
        assert_eq!(shortened("full, breaker", 12.0, 100.0), "full, breaker");
        let short = shortened("full, breaker per host, 50 %", 12.0, 100.0);
        assert!(short.starts_with("full, b") && short.ends_with('…'), "{short}");
        assert!(width(&short, 12.0) <= 100.0);
    }

    #[test]
    fn long_text_is_broken_at_blanks_and_nothing_is_lost() {
        let text = "Attempts in 50 ms around the outage, for everybody who retries at all.";
        let lines = wrapped(text, 12.0, 150.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 150.0));
        assert_eq!(lines.join(" "), text);
    }
}

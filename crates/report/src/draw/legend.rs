//! The keys above the panels, set like words in lines.

use super::canvas::{Anchor, Canvas, Item, Paint};
use super::frame::NORMAL;
use super::{measure, series};
use crate::chart::{LegendKey, Swatch};
use crate::style::{Dot, Ink, Weight};

const SWATCH: f64 = 24.0;
const GAP: f64 = 18.0;
const LINE: f64 = 19.0;

/// Draws the keys from `top` on and gives the height that they take.
pub(super) fn draw(canvas: &mut Canvas, keys: &[LegendKey], top: f64) -> f64 {
    if keys.is_empty() {
        return 0.0;
    }
    let (mut x, mut y) = (0.0, top + 12.0);
    for key in keys {
        let width = SWATCH + 6.0 + measure::width(&key.name, NORMAL);
        if x > 0.0 && x + width > canvas.width {
            (x, y) = (0.0, y + LINE);
        }
        swatch(canvas, key, (x, y - 4.0));
        let at = (x + SWATCH + 6.0, y);
        canvas.text(at, &key.name, NORMAL, Anchor::Start, Paint::Ink(Ink::Text), false);
        x += width + GAP;
    }
    y - top + 12.0
}

fn swatch(canvas: &mut Canvas, key: &LegendKey, (x, y): (f64, f64)) {
    let style = key.style;
    let square = [x + 5.0, y - 6.0, 14.0, 12.0];
    match key.swatch {
        Swatch::Line => line(canvas, key, (x, y)),
        Swatch::Area(weight) => {
            canvas.items.push(Item::Rect { place: square, paint: Paint::Ink(style.ink), weight });
        }
        Swatch::Cell(percent) => {
            series::draw_healed(canvas, square, f64::from(percent) / 100.0);
        }
        Swatch::Shade => {
            let paint = Paint::Shade;
            canvas.items.push(Item::Rect { place: square, paint, weight: Weight::Full });
        }
    }
}

fn line(canvas: &mut Canvas, key: &LegendKey, (x, y): (f64, f64)) {
    let style = key.style;
    let (points, paint) = (vec![(x, y), (x + SWATCH, y)], Paint::Ink(style.ink));
    canvas.items.push(Item::Line { points, paint, width: 1.75, dash: style.dash });
    // A disc is what a line has that needs no dot to be told apart.
    if style.dot != Dot::Disc || matches!(style.ink, Ink::Entry(_)) {
        let at = (x + SWATCH / 2.0, y);
        canvas.items.push(Item::Dot { at, dot: style.dot, ink: style.ink });
    }
}

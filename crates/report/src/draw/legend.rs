//! The keys above the panels, set like words in lines.

use super::frame::NORMAL;
use super::sheet::{Anchor, Item, Paint, Sheet};
use super::{marks, measure};
use crate::chart::{Key, Swatch};
use crate::look::{Dot, Ink, Weight};

const SWATCH: f64 = 24.0;
const GAP: f64 = 18.0;
const LINE: f64 = 19.0;

/// Draws the keys from `top` on and gives the height that they take.
pub(super) fn draw(sheet: &mut Sheet, keys: &[Key], top: f64) -> f64 {
    if keys.is_empty() {
        return 0.0;
    }
    let (mut x, mut y) = (0.0, top + 12.0);
    for key in keys {
        let width = SWATCH + 6.0 + measure::width(&key.name, NORMAL);
        if x > 0.0 && x + width > sheet.width {
            (x, y) = (0.0, y + LINE);
        }
        swatch(sheet, key, (x, y - 4.0));
        let at = (x + SWATCH + 6.0, y);
        sheet.text(at, &key.name, NORMAL, Anchor::Start, Paint::Ink(Ink::Text), false);
        x += width + GAP;
    }
    y - top + 12.0
}

fn swatch(sheet: &mut Sheet, key: &Key, (x, y): (f64, f64)) {
    let look = key.look;
    let square = [x + 5.0, y - 6.0, 14.0, 12.0];
    match key.swatch {
        Swatch::Line => line(sheet, key, (x, y)),
        Swatch::Area(weight) => {
            sheet.items.push(Item::Rect { place: square, paint: Paint::Ink(look.ink), weight });
        }
        Swatch::Cell(percent) => {
            marks::draw_healed(sheet, square, f64::from(percent) / 100.0);
        }
        Swatch::Shade => {
            let paint = Paint::Shade;
            sheet.items.push(Item::Rect { place: square, paint, weight: Weight::Full });
        }
    }
}

fn line(sheet: &mut Sheet, key: &Key, (x, y): (f64, f64)) {
    let look = key.look;
    let (points, paint) = (vec![(x, y), (x + SWATCH, y)], Paint::Ink(look.ink));
    sheet.items.push(Item::Line { points, paint, width: 1.75, dash: look.dash });
    // A disc is what a line has that needs no dot to be told apart.
    if look.dot != Dot::Disc || matches!(look.ink, Ink::Entry(_)) {
        let at = (x + SWATCH / 2.0, y);
        sheet.items.push(Item::Dot { at, dot: look.dot, ink: look.ink });
    }
}

//! Axes of a panel: rules, ticks and numbers.

use super::canvas::{Anchor, Canvas, Item, Paint};
use super::frame::SMALL;
use super::measure;
use super::scale::{NEVER, Scale, ticks};
use crate::chart::Panel;
use crate::style::Weight;

/// The rectangle in which a panel draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The axes that have numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) x: bool,
    pub(super) y: bool,
}

impl Plane {
    pub(super) fn x(&self, panel: &Panel) -> Scale {
        Scale::new(&panel.x, self.left, self.left + self.width)
    }

    pub(super) fn y(&self, panel: &Panel) -> Scale {
        Scale::new(&panel.y, self.bottom(), self.top)
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }
}

/// Points of height for each number up the side, of width for each along the bottom.
const Y_ROOM: f64 = 30.0;
const X_ROOM: f64 = 62.0;

/// A name reaches this far over the right end of its panel: half of what is between two panels.
const OVER: f64 = 11.0;

/// Draws the grid, the axes and the numbers that are asked for.
pub(super) fn draw(canvas: &mut Canvas, panel: &Panel, plane: &Plane, numbers: Numbers) {
    let (x, y) = (plane.x(panel), plane.y(panel));
    let mut free = f64::INFINITY;
    for (value, text) in ticks(&panel.y, plane.height / Y_ROOM) {
        let at = y.at(value);
        if panel.y.names.is_empty() {
            canvas.rule((plane.left, at), (plane.right(), at));
        }
        if numbers.y && at <= free {
            let text = measure::shortened(&text, SMALL, plane.left - 8.0);
            canvas.soft((plane.left - 7.0, at + 4.0), &text, SMALL, Anchor::End);
            free = at - SMALL - 1.0;
        }
    }
    if panel.y.never {
        never(canvas, plane, numbers.y);
    }
    canvas.rule((plane.left, plane.bottom()), (plane.right(), plane.bottom()));
    if !numbers.x {
        return;
    }
    let mut free = f64::NEG_INFINITY;
    let all = ticks(&panel.x, plane.width / X_ROOM);
    let every = if panel.x.names.is_empty() { 1 } else { stride(&all, plane.width) };
    for (value, text) in all.into_iter().step_by(every) {
        let at = x.at(value);
        let half = measure::width(&text, SMALL) / 2.0;
        if panel.x.names.is_empty() {
            canvas.rule((at, plane.bottom()), (at, plane.bottom() + 4.0));
        }
        let ends = panel.x.names.is_empty() || at + half < plane.right() + OVER;
        if at - half > free && ends {
            canvas.soft((at, plane.bottom() + 15.0), &text, SMALL, Anchor::Middle);
            free = at + half + 6.0;
        }
    }
}

/// Of names in a row, one in how many has room: they are left out evenly.
fn stride(names: &[(f64, String)], width: f64) -> usize {
    let widest = names.iter().map(|(_, name)| measure::width(name, SMALL)).fold(0.0, f64::max);
    // OK because an axis has some forty names.
    #[expect(clippy::cast_precision_loss, reason = "some forty")]
    let each = width / names.len().max(1) as f64;
    let fits = |&every: &usize| {
        #[expect(clippy::cast_precision_loss, reason = "some forty")]
        let room = each * every as f64;
        room >= widest + 6.0
    };
    (1..names.len()).find(fits).unwrap_or(names.len()).max(1)
}

/// The place above all values, for what never happens.
fn never(canvas: &mut Canvas, plane: &Plane, named: bool) {
    let place = [plane.left, plane.top, plane.width, NEVER];
    canvas.items.push(Item::Rect { place, paint: Paint::Never, weight: Weight::Full });
    if named {
        let at = (plane.left - 7.0, plane.top + NEVER / 2.0 + 4.0);
        canvas.soft(at, "never", SMALL, Anchor::End);
    }
}

/// The dot of a panel's entry around this place.
pub(super) fn swatch(canvas: &mut Canvas, panel: &Panel, at: (f64, f64)) {
    if let Some(style) = panel.style {
        canvas.items.push(Item::Dot { at, dot: style.dot, ink: style.ink });
    }
}

/// Room for the numbers of y to the left of a panel.
pub(super) fn numbers_width(panel: &Panel) -> f64 {
    // More numbers than any panel has: one of them is the widest.
    let texts = ticks(&panel.y, 12.0).into_iter().map(|(_, text)| text);
    let never = panel.y.never.then(|| "never".to_owned());
    let widths = texts.chain(never).map(|text| measure::width(&text, SMALL) + 10.0);
    widths.fold(0.0, f64::max)
}

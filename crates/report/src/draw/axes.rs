//! Axes of a panel: rules, ticks and numbers.

use super::canvas::{self, Anchor, Canvas, Item, Paint, SMALL};
use crate::chart::{Axis, Panel};
use crate::numbers::{grouped, number};
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
            let text = canvas::shortened(&text, SMALL, plane.left - 8.0);
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
        let half = canvas::width(&text, SMALL) / 2.0;
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
    let widest = names.iter().map(|(_, name)| canvas::width(name, SMALL)).fold(0.0, f64::max);
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
    let widths = texts.chain(never).map(|text| canvas::width(&text, SMALL) + 10.0);
    widths.fold(0.0, f64::max)
}

/// Values of an axis on a line of the canvas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    log: bool,
    start: f64,
    end: f64,
    never: f64,
}

/// Height of the place for what never happens.
pub(super) const NEVER: f64 = 18.0;

impl Scale {
    /// The axis from `start` to `end`, with the place for "never" at the end if it has one.
    pub(crate) fn new(axis: &Axis, start: f64, end: f64) -> Self {
        let towards = if end < start { -1.0 } else { 1.0 };
        let room = if axis.never { NEVER } else { 0.0 };
        let never = end - towards * room / 2.0;
        let (from, to) = (bent(axis.from, axis.log), bent(axis.to, axis.log));
        Self { from, to, log: axis.log, start, end: end - towards * room, never }
    }

    /// The place of a value: within the ends, and at "never" for a value without bound.
    pub(crate) fn at(&self, value: f64) -> f64 {
        if !value.is_finite() {
            return self.never;
        }
        let share = (bent(value, self.log) - self.from) / (self.to - self.from);
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// The place, or the nearer end if it lies beyond.
    pub(super) fn within(&self, place: f64) -> f64 {
        place.clamp(self.start.min(self.end), self.start.max(self.end))
    }

    /// Whether a value lies between the ends.
    pub(crate) fn holds(&self, value: f64) -> bool {
        !value.is_finite() || (self.from..=self.to).contains(&bent(value, self.log))
    }
}

fn bent(value: f64, log: bool) -> f64 {
    if log { libm::log10(value.max(f64::MIN_POSITIVE)) } else { value }
}

/// The values that the axis names, with their texts; about `most` of them.
pub(crate) fn ticks(axis: &Axis, most: f64) -> Vec<(f64, String)> {
    if !axis.names.is_empty() {
        let places = axis.names.iter().zip(0_u32..);
        return places.map(|(name, place)| (f64::from(place) + 0.5, name.clone())).collect();
    }
    if axis.label.is_empty() {
        return Vec::new();
    }
    let values = if axis.log { decades(axis, most) } else { evenly(axis, most) };
    values.into_iter().map(|value| (value, named(value))).collect()
}

fn named(value: f64) -> String {
    if value.abs() >= 1e3 { grouped(value) } else { number(value) }
}

/// Steps of 1, 2 or 5 times a power of ten.
fn evenly(axis: &Axis, most: f64) -> Vec<f64> {
    let rough = (axis.to - axis.from) / most.max(1.0);
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough * 0.999);
    let step = factor.unwrap_or(10.0) * power;
    let first = libm::ceil(axis.from / step - 1e-9);
    let count = libm::floor((axis.to / step - first) + 1e-9).clamp(0.0, MOST_TICKS);
    // OK because the count is between 0 and MOST_TICKS.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped above")]
    let count = count as u32;
    // Adding 0 turns a negative zero into zero.
    (0..=count).map(|n| (first + f64::from(n)) * step + 0.0).collect()
}

/// More numbers than this on one axis are no help.
const MOST_TICKS: f64 = 50.0;

/// Powers of ten, with 2 and 5 times them where there is room.
fn decades(axis: &Axis, most: f64) -> Vec<f64> {
    let decades = libm::log10(axis.to / axis.from);
    let steps: &[f64] = match most / decades.max(0.01) {
        room if room >= 4.0 => &[1.0, 2.0, 5.0],
        room if room >= 2.0 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let every = libm::ceil(decades / most.max(1.0)).max(1.0);
    let mut values = Vec::new();
    let mut power = libm::floor(libm::log10(axis.from) / every) * every;
    while libm::pow(10.0, power) <= axis.to {
        values.extend(steps.iter().map(|step| step * libm::pow(10.0, power)));
        power += every;
    }
    values.retain(|value| (axis.from * 0.999..=axis.to * 1.001).contains(value));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let names = |axis: &Axis, most| -> Vec<String> {
            ticks(axis, most).into_iter().map(|(_, name)| name).collect()
        };
        let linear = Axis::linear("rate", "1/s", 0.0, 20_000.0);
        assert_eq!(
            names(&linear, 4.0),
            ["0", "5000", "10\u{202f}000", "15\u{202f}000", "20\u{202f}000"]
        );
        let log = Axis::log("time", "s", 0.4, 60.0);
        assert_eq!(names(&log, 3.0), ["1", "10"]);
        assert_eq!(names(&log, 9.0), ["0.5", "1", "2", "5", "10", "20", "50"]);
        assert_eq!(names(&Axis::linear("", "", 0.0, 1.0), 5.0), [""; 0]);
    }

    #[test]
    fn never_stands_above_every_value() {
        let axis = Axis { never: true, ..Axis::log("recovery", "s", 1.0, 100.0) };
        let scale = Scale::new(&axis, 200.0, 0.0);
        assert_eq!(scale.at(1.0), 200.0);
        assert_eq!(scale.at(100.0), NEVER);
        assert_eq!(scale.at(f64::INFINITY), NEVER / 2.0);
        assert_eq!(scale.at(1e9), NEVER, "what is off the axis stays within it");
    }
}

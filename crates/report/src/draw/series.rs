//! The content of a panel: shades, areas, lines, dots, limits and cells.

use super::axes::{Plane, Scale};
use super::canvas::{self, Anchor, Canvas, Item, Paint, SMALL};
use crate::chart::{Along, Band, HeatCell, Panel, Reference, Series, Shape};
use crate::style::{Dash, Dot, Style, Weight};

/// Draws outages and cells, beneath the grid.
pub(super) fn beneath(canvas: &mut Canvas, panel: &Panel, plane: &Plane) {
    let x = plane.x(panel);
    for &(from, to) in &panel.shades {
        let (left, right) = (x.at(from), x.at(to));
        let place = [left, plane.top, (right - left).max(1.0), plane.height];
        canvas.items.push(Item::Rect { place, paint: Paint::Shade, weight: Weight::Full });
    }
    for cell in &panel.cells {
        draw_cell(canvas, panel, plane, cell);
    }
}

/// Draws areas, lines, dots and limits, above the grid.
pub(super) fn draw(canvas: &mut Canvas, panel: &Panel, plane: &Plane) {
    let (x, y) = (plane.x(panel), plane.y(panel));
    for band in &panel.bands {
        draw_band(canvas, band, x, y);
    }
    for reference in &panel.references {
        draw_reference(canvas, reference, panel, plane);
    }
    for (index, series) in panel.series.iter().enumerate() {
        match series.shape {
            Shape::Dust => dust(canvas, series, x, plane),
            Shape::Line | Shape::Steps | Shape::Way | Shape::Dotted => {
                line(canvas, series, x, y, shift(index, panel.series.len()));
            }
        }
    }
}

fn draw_band(canvas: &mut Canvas, band: &Band, x: Scale, y: Scale) {
    let points: Vec<_> = band.points.iter().filter(|(at, ..)| x.holds(*at)).copied().collect();
    let edge = |value: fn(&(f64, f64, f64)) -> f64| {
        let edge: Vec<_> = points.iter().map(|p| (x.at(p.0), y.at(value(p)))).collect();
        if band.steps { stepped(&edge) } else { edge }
    };
    let mut outline = edge(|point| point.2);
    outline.extend(edge(|point| point.1).into_iter().rev());
    if points.len() > 1 {
        let (ink, weight) = (band.style.ink, band.weight);
        canvas.items.push(Item::Area { points: outline, ink, weight });
    }
}

fn line(canvas: &mut Canvas, series: &Series, x: Scale, y: Scale, shift: f64) {
    let never = |value: f64| if value.is_finite() { 0.0 } else { shift };
    let kept = series.points.iter().filter(|(at, _)| x.holds(*at));
    let all: Vec<_> = kept.map(|&(at, to)| (x.within(x.at(at) + never(to)), y.at(to))).collect();
    let points = if series.shape == Shape::Steps { stepped(&all) } else { all.clone() };
    let Style { ink, dash, dot } = series.style;
    let width = if series.shape == Shape::Steps { 1.25 } else { 1.75 };
    if points.len() > 1 {
        canvas.items.push(Item::Line {
            points: thinned(points),
            paint: Paint::Ink(ink),
            width,
            dash,
        });
    }
    let dots: Vec<(_, Dot)> = match (series.shape, all.first(), all.last()) {
        (Shape::Dotted, ..) => all.iter().map(|&at| (at, dot)).collect(),
        (Shape::Way, Some(&first), Some(&last)) => vec![(first, Dot::Disc), (last, Dot::Square)],
        _ => Vec::new(),
    };
    canvas.items.extend(dots.into_iter().map(|(at, dot)| Item::Dot { at, dot, ink }));
}

/// Lines that all end at "never" would hide one another: each stands a little aside.
fn shift(index: usize, of: usize) -> f64 {
    // OK because a panel has a handful of lines.
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let (index, of) = (index as f64, of as f64);
    (index - (of - 1.0) / 2.0) * 4.0
}

/// Each point holds until the next one.
fn stepped(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut steps = Vec::with_capacity(2 * points.len());
    for pair in points.windows(2) {
        steps.extend([pair[0], (pair[1].0, pair[0].1)]);
    }
    if let [.., before, last] = points {
        steps.extend([*last, (last.0 + (last.0 - before.0), last.1)]);
    }
    thinned(steps)
}

/// Without points in the middle of a level line, which only make the file larger.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(points.len());
    for point in points {
        if let [.., a, b] = kept[..] {
            let level = near(a.1, b.1) && near(b.1, point.1) && a.0 <= b.0 && b.0 <= point.0;
            if level {
                kept.pop();
            }
        }
        kept.push(point);
    }
    kept
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.05
}

/// Dots at heights of their own, scattered so that no pattern is seen where there is none.
fn dust(canvas: &mut Canvas, series: &Series, x: Scale, plane: &Plane) {
    let kept = series.points.iter().filter(|(at, _)| x.holds(*at));
    let points: Vec<_> = kept
        .zip(0_u32..)
        .map(|(&(at, _), nth)| (x.at(at), plane.top + 1.5 + scattered(nth) * (plane.height - 3.0)))
        .collect();
    if !points.is_empty() {
        canvas.items.push(Item::Dust { points, ink: series.style.ink });
    }
}

/// A number from 0 to 1 that looks like chance and is the same every time.
fn scattered(nth: u32) -> f64 {
    let mixed = (nth ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35);
    f64::from(mixed ^ (mixed >> 16)) / f64::from(u32::MAX)
}

fn draw_reference(canvas: &mut Canvas, reference: &Reference, panel: &Panel, plane: &Plane) {
    let Style { ink, dash, .. } = reference.style;
    let (scale, level) = match reference.along {
        Along::X => (plane.y(panel), true),
        Along::Y => (plane.x(panel), false),
    };
    if !scale.holds(reference.at) {
        return;
    }
    let at = scale.at(reference.at);
    let points = match level {
        true => vec![(plane.left, at), (plane.right(), at)],
        false => vec![(at, plane.top), (at, plane.bottom())],
    };
    let paint = Paint::Ink(ink);
    canvas.items.push(Item::Line { points, paint, width: 1.25, dash });
    let (place, anchor) = match level {
        true if at > plane.top + 14.0 => ((plane.right(), at - 4.0), Anchor::End),
        true => ((plane.right(), at + 12.0), Anchor::End),
        false if at > plane.left + plane.width / 2.0 => {
            ((at - 4.0, plane.bottom() - 6.0), Anchor::End)
        }
        false => ((at + 4.0, plane.bottom() - 6.0), Anchor::Start),
    };
    canvas.text(place, &reference.name, SMALL, anchor, paint, false);
}

#[expect(clippy::cast_precision_loss, reason = "rows and columns of a heat map")]
fn draw_cell(canvas: &mut Canvas, panel: &Panel, plane: &Plane, cell: &HeatCell) {
    let Some(healed) = cell.healed else { return };
    let (x, y) = (plane.x(panel), plane.y(panel));
    // OK because a heat map has at most some hundred rows and columns.
    let (column, row) = (cell.column as f64, cell.row as f64);
    let (left, right) = (x.at(column), x.at(column + 1.0));
    let (top, bottom) = (y.at(row + 1.0), y.at(row));
    draw_healed(canvas, [left + 0.5, top + 0.5, right - left - 1.0, bottom - top - 1.0], healed);
}

/// A square whose colour says how many runs healed; so that readers need not tell colours apart, none
/// has a cross and some have their share, where there is room.
pub(super) fn draw_healed(canvas: &mut Canvas, place: [f64; 4], healed: f64) {
    const SIZE: f64 = 9.5;
    let step = step(healed);
    canvas.items.push(Item::Rect { place, paint: Paint::Healed(step), weight: Weight::Full });
    let [left, top, width, height] = place;
    let middle = (left + width / 2.0, top + height / 2.0);
    let paint = Paint::OnHealed(step);
    match step {
        0 => cross(canvas, middle, (width.min(height) * 0.18).min(4.0), paint),
        1..=3 => {
            let text = format!("{:.0} %", (healed * 100.0).clamp(1.0, 99.0));
            if canvas::width(&text, SIZE) + 2.0 < width && height > SIZE + 2.0 {
                let at = (middle.0, middle.1 + 3.5);
                canvas.text(at, &text, SIZE, Anchor::Middle, paint, false);
            }
        }
        _ => {}
    }
}

/// All, nothing, and three steps between.
fn step(healed: f64) -> u8 {
    match healed {
        none if none <= 0.0 => 0,
        all if all >= 1.0 => 4,
        few if few < 1.0 / 3.0 => 1,
        half if half < 2.0 / 3.0 => 2,
        _ => 3,
    }
}

fn cross(canvas: &mut Canvas, (x, y): (f64, f64), arm: f64, paint: Paint) {
    for sign in [1.0, -1.0] {
        let points = vec![(x - arm, y - sign * arm), (x + arm, y + sign * arm)];
        canvas.items.push(Item::Line { points, paint, width: 1.25, dash: Dash::Solid });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_stretches_lose_their_middle_and_nothing_else() {
        let points = vec![(0.0, 5.0), (1.0, 5.0), (2.0, 5.0), (3.0, 1.0), (4.0, 1.0)];
        assert_eq!(thinned(points), [(0.0, 5.0), (2.0, 5.0), (3.0, 1.0), (4.0, 1.0)]);
    }

    #[test]
    fn some_healed_is_neither_all_nor_none() {
        assert_eq!([0.0, 0.05, 0.5, 0.95, 1.0].map(step), [0, 1, 2, 3, 4]);
    }
}

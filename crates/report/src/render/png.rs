//! Shapes as PNG in the light colours, drawn by kuva with the font that it brings along, so that no
//! font of the machine is asked for.

use kuva::backend::png::PngBackend;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

use super::svg::{MARGIN, coordinate, outline, pattern};
use super::theme::LIGHT;
use crate::draw::{Anchor, Canvas, Item, Paint};
use crate::style::Weight;

/// Pixels for each point of the canvas.
const SCALE: f32 = 2.0;
/// DejaVu Sans is wider than the fonts of browsers that the canvas was measured for.
const NARROWER: f64 = 0.92;

/// The drawing at two pixels a point.
pub(crate) fn png(canvas: &Canvas) -> Result<Vec<u8>, String> {
    let (width, height) = (canvas.width + 2.0 * MARGIN, canvas.height + 2.0 * MARGIN);
    let mut scene = Scene::new(width, height);
    scene.background_color = Some(LIGHT.ground.to_owned());
    scene.text_color = Some(LIGHT.color(Paint::Ink(crate::style::Ink::Text)).to_owned());
    scene.elements.extend(canvas.items.iter().flat_map(shape));
    PngBackend::new().with_scale(SCALE).render_scene(&scene)
}

fn shape(item: &Item) -> Vec<Primitive> {
    match item {
        Item::Line { points, paint, width, dash } => {
            let line = |points| Primitive::PolyLine {
                points,
                stroke: color(*paint),
                stroke_width: *width,
                stroke_dasharray: None,
            };
            // kuva breaks each step of a line anew, and by pixels: short steps would look whole.
            let all = match pattern(*dash) {
                Some(pattern) => pieces(&moved(points), pattern, *width),
                None => vec![moved(points)],
            };
            all.into_iter().map(line).collect()
        }
        Item::Area { points, ink, weight } => {
            vec![area(&moved(points), Paint::Ink(*ink), opacity(*weight))]
        }
        Item::Rect { place: [x, y, width, height], paint, weight } => vec![Primitive::Rect {
            x: x + MARGIN,
            y: y + MARGIN,
            width: *width,
            height: *height,
            fill: color(*paint),
            stroke: None,
            stroke_width: None,
            opacity: Some(opacity(*weight)),
        }],
        Item::Dust { points, ink } => {
            let (cx, cy) = moved(points).into_iter().unzip();
            vec![discs(cx, cy, 0.85, Paint::Ink(*ink))]
        }
        Item::Dot { at, dot, ink } => {
            let (x, y) = (at.0 + MARGIN, at.1 + MARGIN);
            let outline: Vec<_> = outline(*dot).iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            match outline.is_empty() {
                true => vec![discs(vec![x], vec![y], 3.4, Paint::Ink(*ink))],
                false => vec![area(&outline, Paint::Ink(*ink), 1.0)],
            }
        }
        Item::Text { at, text, size, anchor, paint, bold } => {
            vec![words(*at, text, *size, *anchor, *paint, *bold)]
        }
    }
}

fn words(
    at: (f64, f64),
    text: &str,
    size: f64,
    anchor: Anchor,
    paint: Paint,
    bold: bool,
) -> Primitive {
    // OK because font sizes are below 20.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of fonts")]
    let size = libm::round(size * NARROWER) as u32;
    Primitive::Text {
        x: at.0 + MARGIN,
        y: at.1 + MARGIN,
        content: text.to_owned(),
        size,
        anchor: match anchor {
            Anchor::Start => TextAnchor::Start,
            Anchor::Middle => TextAnchor::Middle,
            Anchor::End => TextAnchor::End,
        },
        rotate: None,
        bold,
        color: Some(color(paint)),
    }
}

fn discs(cx: Vec<f64>, cy: Vec<f64>, r: f64, paint: Paint) -> Primitive {
    let fill = color(paint);
    Primitive::CircleBatch { cx, cy, r, fill, fill_opacity: None, stroke: None, stroke_width: None }
}

fn area(points: &[(f64, f64)], paint: Paint, opacity: f64) -> Primitive {
    let mut d = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        d.push_str(if index == 0 { "M" } else { " L" });
        d.push_str(&format!("{} {}", coordinate(*x), coordinate(*y)));
    }
    d.push_str(" Z");
    Primitive::Path(Box::new(PathData {
        d,
        fill: Some(color(paint)),
        stroke: Color::None,
        stroke_width: 0.0,
        opacity: Some(opacity),
        stroke_dasharray: None,
    }))
}

/// The opacity of an area.
const fn opacity(weight: Weight) -> f64 {
    match weight {
        Weight::Faint => 0.16,
        Weight::Light => 0.34,
        Weight::Full => 1.0,
    }
}

fn moved(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|(x, y)| (x + MARGIN, y + MARGIN)).collect()
}

fn color(paint: Paint) -> Color {
    Color::from(LIGHT.color(paint))
}

/// The pieces of a line of this width with round ends. `pattern` is what is drawn and what is left
/// out by turns, as in SVG; the round ends belong to what is drawn.
fn pieces(points: &[(f64, f64)], pattern: &[f64], width: f64) -> Vec<Vec<(f64, f64)>> {
    let length = |nth: usize| match nth.is_multiple_of(2) {
        true => (pattern[nth % pattern.len()] - width).max(DOT),
        false => pattern[nth % pattern.len()] + width,
    };
    let (mut nth, mut left) = (0, length(0));
    let mut all = Vec::new();
    let mut piece: Vec<(f64, f64)> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        let mut rest = libm::hypot(to.0 - from.0, to.1 - from.1);
        while rest > left {
            let share = left / rest;
            from = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
            rest -= left;
            if nth % 2 == 0 {
                piece.push(from);
                all.push(std::mem::take(&mut piece));
            } else {
                piece = vec![from];
            }
            nth += 1;
            left = length(nth);
        }
        left -= rest;
        if nth % 2 == 0 {
            piece.push(to);
        }
    }
    all.extend((piece.len() > 1).then_some(piece));
    all
}

/// The rest of a piece that is all ends.
const DOT: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_short_steps_is_broken_as_one_of_a_single_step_is() {
        let ends = |pieces: Vec<Vec<(f64, f64)>>| -> Vec<(f64, f64)> {
            let hundredth = |at: f64| libm::round(at * 100.0) / 100.0;
            let ends = |piece: &Vec<(f64, f64)>| {
                Some((hundredth(piece.first()?.0), hundredth(piece.last()?.0)))
            };
            pieces.iter().filter_map(ends).collect()
        };
        let expected = [(0.0, 5.0), (9.0, 14.0), (18.0, 20.0)];
        assert_eq!(ends(pieces(&[(0.0, 0.0), (20.0, 0.0)], &[6.0, 3.0], 1.0)), expected);
        let steps: Vec<(f64, f64)> = (0..=80).map(|nth| (f64::from(nth) / 4.0, 0.0)).collect();
        assert_eq!(ends(pieces(&steps, &[6.0, 3.0], 1.0)), expected);
        assert_eq!(ends(pieces(&steps[..5], &[1.0, 1.0], 2.0)), [(0.0, 0.1)]);
        assert!(pieces(&[], &[1.0, 1.0], 1.0).is_empty());
    }
}

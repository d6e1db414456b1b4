//! Shapes as PNG in the light colours, drawn by kuva with the font that it brings along, so that no
//! font of the machine is asked for.

use kuva::backend::png::PngBackend;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

use super::dashes::pieces;
use super::svg::{MARGIN, coordinate, outline, pattern};
use super::theme::{LIGHT, opacity};
use crate::draw::{Anchor, Canvas, Item, Paint};

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

fn moved(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|(x, y)| (x + MARGIN, y + MARGIN)).collect()
}

fn color(paint: Paint) -> Color {
    Color::from(LIGHT.color(paint))
}

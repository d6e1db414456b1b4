//! Shapes as SVG, whose colours are classes, so that one drawing is right in light and in dark; and text that came from
//! outside, made harmless inside HTML and SVG.

use std::fmt::{self, Write};

use askama::filters::HtmlSafe;

use super::theme;
use crate::draw::{Anchor, Canvas, Item};
use crate::style::{Dash, Dot, Weight};

/// The drawing as part of a page that has the style sheet; `name` is what it is called for people
/// who do not see it.
pub(crate) fn inline(canvas: &Canvas, class: &str, name: &str) -> String {
    let (width, height) = (coordinate(canvas.width), coordinate(canvas.height));
    let mut svg = format!(
        "<svg class=\"chart {class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(name)
    );
    shapes(&mut svg, canvas);
    svg.push_str("</svg>\n");
    svg
}

/// The drawing as a file of its own, with its style sheet and a ground.
pub(crate) fn standalone(canvas: &Canvas, title: &str, alt: &str) -> String {
    let margin = MARGIN;
    let (width, height) = (canvas.width + 2.0 * margin, canvas.height + 2.0 * margin);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"-{margin} -{margin} \
         {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<style>{}</style>\n\
         <rect class=\"ground\" x=\"-{margin}\" y=\"-{margin}\" width=\"{w}\" height=\"{h}\"/>\n",
        escaped(title),
        escaped(alt),
        // No character of the style sheet needs escaping in XML.
        theme::css(".chart") + ".chart .ground{fill:var(--ground)}\n",
        w = coordinate(width),
        h = coordinate(height),
    );
    shapes(&mut svg, canvas);
    svg.push_str("</svg>\n");
    svg
}

/// Empty room around a file of its own.
pub(super) const MARGIN: f64 = 20.0;

fn shapes(svg: &mut String, canvas: &Canvas) {
    for item in &canvas.items {
        shape(svg, item);
        svg.push('\n');
    }
}

// Writing into a string cannot fail, here and below.
fn shape(svg: &mut String, item: &Item) {
    match item {
        Item::Line { points, paint, width, dash } => {
            let (class, d) = (theme::class(*paint), path(points));
            let _ = write!(svg, "<path class=\"line {class}\" d=\"{d}\"");
            let _ = write!(svg, " stroke-width=\"{}\"", coordinate(*width));
            if let Some(dash) = pattern(*dash) {
                let dash: Vec<String> = dash.iter().map(|length| coordinate(*length)).collect();
                let _ = write!(svg, " stroke-dasharray=\"{}\"", dash.join(" "));
            }
            svg.push_str("/>");
        }
        Item::Area { points, ink, weight } => {
            let (class, d) = (theme::class(crate::draw::Paint::Ink(*ink)), path(points));
            let _ = write!(svg, "<path class=\"area {class}{}\" d=\"{d}z\"/>", heavy(*weight));
        }
        Item::Rect { place, paint, weight } => {
            let [x, y, w, h] = place.map(coordinate);
            let (class, heavy) = (theme::class(*paint), heavy(*weight));
            let _ = write!(svg, "<rect class=\"area {class}{heavy}\" x=\"{x}\" y=\"{y}\"");
            let _ = write!(svg, " width=\"{w}\" height=\"{h}\"/>");
        }
        Item::Dust { points, ink } => {
            let class = theme::class(crate::draw::Paint::Ink(*ink));
            let _ = write!(svg, "<path class=\"dust {class}\" d=\"{}\"/>", dust(points));
        }
        Item::Dot { at, dot, ink } => {
            let class = theme::class(crate::draw::Paint::Ink(*ink));
            form(svg, *at, *dot, &class);
        }
        Item::Text { at, text, size, anchor, paint, bold } => {
            let class = theme::class(*paint) + if *bold { " bold" } else { "" };
            let (x, y, size) = (coordinate(at.0), coordinate(at.1), coordinate(*size));
            let _ = write!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\"");
            svg.push_str(match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            });
            let _ = write!(svg, ">{}</text>", escaped(text));
        }
    }
}

/// The outline of a dot around its middle, as steps from there.
pub(super) fn outline(dot: Dot) -> &'static [(f64, f64)] {
    match dot {
        Dot::Disc => &[],
        Dot::Square => &[(-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)],
        Dot::Triangle => &[(0.0, -4.2), (3.8, 2.8), (-3.8, 2.8)],
        Dot::Diamond => &[(0.0, -4.4), (4.0, 0.0), (0.0, 4.4), (-4.0, 0.0)],
        Dot::Cross => &[
            (-3.6, -2.2),
            (-2.2, -3.6),
            (0.0, -1.4),
            (2.2, -3.6),
            (3.6, -2.2),
            (1.4, 0.0),
            (3.6, 2.2),
            (2.2, 3.6),
            (0.0, 1.4),
            (-2.2, 3.6),
            (-3.6, 2.2),
            (-1.4, 0.0),
        ],
    }
}

fn form(svg: &mut String, (x, y): (f64, f64), dot: Dot, class: &str) {
    let outline = outline(dot);
    if outline.is_empty() {
        let (x, y) = (coordinate(x), coordinate(y));
        let _ = write!(svg, "<circle class=\"area {class}\" cx=\"{x}\" cy=\"{y}\" r=\"3.4\"/>");
        return;
    }
    let points: Vec<_> = outline.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    let _ = write!(svg, "<path class=\"area {class}\" d=\"{}z\"/>", path(&points));
}

/// Dots as lines of no length with round ends; those at one place are drawn once.
fn dust(points: &[(f64, f64)]) -> String {
    let half = |value: f64| libm::round(value * 2.0) / 2.0;
    let mut places: Vec<_> = points.iter().map(|&(x, y)| (half(x), half(y))).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    places.dedup();
    let mut d = String::new();
    for (x, y) in places {
        let _ = write!(d, "M{} {}h0", coordinate(x), coordinate(y));
    }
    d
}

fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::with_capacity(points.len() * 10);
    let mut last = ("".to_owned(), "".to_owned());
    for (index, &(x, y)) in points.iter().enumerate() {
        let place = (coordinate(x), coordinate(y));
        let _ = match index {
            0 => write!(d, "M{} {}", place.0, place.1),
            _ if place == last => Ok(()),
            _ if place.1 == last.1 => write!(d, "H{}", place.0),
            _ if place.0 == last.0 => write!(d, "V{}", place.1),
            _ => write!(d, "L{} {}", place.0, place.1),
        };
        last = place;
    }
    d
}

pub(super) const fn pattern(dash: Dash) -> Option<&'static [f64]> {
    match dash {
        Dash::Solid => None,
        Dash::Dashed => Some(&[6.0, 3.0]),
        Dash::Dotted => Some(&[1.5, 2.5]),
        Dash::Mixed => Some(&[7.0, 2.5, 1.5, 2.5]),
    }
}

const fn heavy(weight: Weight) -> &'static str {
    match weight {
        Weight::Faint => " faint",
        Weight::Light => " light",
        Weight::Full => "",
    }
}

/// A place with one digit: less than a screen shows, and the same on every machine.
pub(super) fn coordinate(value: f64) -> String {
    let text = format!("{:.1}", libm::round(value * 10.0) / 10.0 + 0.0);
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// HTML that a page takes over as it is: text with everything escaped, or elements of this crate's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Text from outside, escaped.
    pub(crate) fn text(text: &str) -> Self {
        Self(escaped(text))
    }

    /// Elements that this crate wrote, or escaped text with such elements in it.
    pub(crate) const fn own(html: String) -> Self {
        Self(html)
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Nothing else makes one than the two functions above.
impl HtmlSafe for Html {}

/// The text with everything that could end an element or an attribute spelled out, and without
/// control characters, which no XML may hold.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_no_more_than_it_must() {
        let points = [(0.0, 1.0), (5.0, 1.0), (5.0, 2.0), (5.0, 2.01), (6.0, 3.04)];
        assert_eq!(path(&points), "M0 1H5V2L6 3");
        assert_eq!(coordinate(-0.01), "0");
    }

    #[test]
    fn a_thousand_dots_at_one_place_are_one() {
        assert_eq!(dust(&[(1.0, 2.0); 1_000]), "M1 2h0");
    }

    #[test]
    fn markup_in_a_name_stays_text() {
        assert_eq!(escaped("<script>\"&'\u{0}"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}");
    }
}

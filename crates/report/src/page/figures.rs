//! Pictures within the page, each with its caption and how to read it.

use crate::chart::Chart;
use crate::draw::{Frame, canvas};
use crate::render::{escaped, inline};

/// The chart twice, for a screen and for a telephone; the style sheet shows one of them.
pub(super) fn figure(chart: &Chart, heading: &str) -> String {
    let name = format!("{}. {}", chart.title, chart.alt);
    let (title, caption) = (escaped(&chart.title), escaped(&chart.caption));
    let mut html = format!("<figure>\n<{heading}>{title}</{heading}>\n");
    html += &format!("<p class=\"reading\">{}</p>\n", escaped(chart.reading));
    html += &inline(&canvas(chart, &Frame::WIDE), "wide", &name);
    html += &inline(&canvas(chart, &Frame::NARROW), "narrow", &name);
    html + &format!("<figcaption>{caption}</figcaption>\n</figure>\n")
}

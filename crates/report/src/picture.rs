//! A chart as a file of its own.

use std::fmt;

use stagger_sim::{CaseReport, Report};

use crate::chart::Chart;
use crate::draw::{Frame, sheet};
use crate::pictures::{arrivals, failures, phases, recovery, strips};
use crate::render;

/// A chart with a name for its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The name of a file without its ending: small letters, digits and hyphens.
    pub name: String,
    /// What it shows.
    pub chart: Chart,
}

/// No PNG could be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPng(String);

impl Picture {
    /// The chart under this name, turned into one for a file.
    #[must_use]
    pub fn new(name: &str, chart: Chart) -> Self {
        Self { name: file_name(name), chart }
    }

    /// A whole SVG file, for light and for dark.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let sheet = sheet(&self.chart, &Frame::FILE);
        render::standalone(&sheet, &self.chart.title, &self.chart.alt)
    }

    /// A whole PNG file in light colours, two pixels a point.
    ///
    /// # Errors
    /// A sheet too large for a bitmap.
    pub fn to_png(&self) -> Result<Vec<u8>, NoPng> {
        render::png(&sheet(&self.chart, &Frame::FILE)).map_err(NoPng)
    }

    /// A small version in lines of at most `width` characters, from 40 to 200; it has no colour, so
    /// it suits every terminal and every setting of `NO_COLOR`.
    #[must_use]
    pub fn to_terminal(&self, width: usize) -> String {
        render::terminal(&self.chart, width)
    }
}

/// Every picture that the report has figures for: first those of the case that says most, then
/// those over all cases, then those of the other cases.
#[must_use]
pub fn pictures(report: &Report) -> Vec<Picture> {
    let main = main_case(report);
    let mut all: Vec<_> = main.into_iter().flat_map(|case| of_case(report, case)).collect();
    let over = [("recovery", recovery(report)), ("failures", failures(report))];
    all.extend(over.into_iter().filter_map(|(name, chart)| Some(Picture::new(name, chart?))));
    let others =
        report.cases.iter().filter(|&case| main.is_some_and(|main| !std::ptr::eq(main, case)));
    all.extend(others.flat_map(|case| of_case(report, case)));
    all
}

/// The case in the middle: neither the mildest nor the worst.
pub(crate) fn main_case(report: &Report) -> Option<&CaseReport> {
    report.cases.get(report.cases.len() / 2)
}

/// The pictures of one case.
pub(crate) fn of_case(report: &Report, case: &CaseReport) -> Vec<Picture> {
    let all = [
        ("instants", strips(report, case)),
        ("arrivals", arrivals(report, case)),
        ("queue", phases(report, case)),
    ];
    let named = |name: &str| match report.cases.len() {
        0 | 1 => name.to_owned(),
        _ => format!("{name} {}", case.label),
    };
    all.into_iter().filter_map(|(name, chart)| Some(Picture::new(&named(name), chart?))).collect()
}

/// Small letters, digits and single hyphens, whatever the name was.
fn file_name(name: &str) -> String {
    let mut file = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' | '.' => file.push(c),
            _ if file.ends_with('-') => {}
            _ => file.push('-'),
        }
    }
    file.trim_matches(|c| c == '-' || c == '.').to_owned()
}

impl fmt::Display for NoPng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no PNG could be made: {}", self.0)
    }
}

impl std::error::Error for NoPng {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_case_leaves_the_folder() {
        assert_eq!(file_name("instants up at 0.2s"), "instants-up-at-0.2s");
        assert_eq!(file_name("../../<x> & \"y\""), "x-y");
    }
}

//! A chart as a file of its own.

use std::fmt;

use crate::chart::Chart;
use crate::draw::{Frame, canvas};
use crate::render;

/// A chart with a name for its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The name of a file without its ending: small letters, digits and hyphens.
    pub name: String,
    /// The chart that it shows.
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
        let canvas = canvas(&self.chart, &Frame::FILE);
        render::standalone(&canvas, &self.chart.title, &self.chart.alt)
    }

    /// A whole PNG file in light colours, two pixels a point.
    ///
    /// # Errors
    /// A canvas too large for a bitmap.
    pub fn to_png(&self) -> Result<Vec<u8>, NoPng> {
        render::png(&canvas(&self.chart, &Frame::FILE)).map_err(NoPng)
    }

    /// A small version in lines of at most `width` characters, from 40 to 200; it has no colour, so
    /// it suits every terminal and every setting of `NO_COLOR`.
    #[must_use]
    pub fn to_terminal(&self, width: usize) -> String {
        render::terminal(&self.chart, width)
    }
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

//! One parser for all lines of a file.

use super::csv::Csv;
use super::kind::AccessLogFormat;
use super::map::LogMap;
use super::{combined, json};
use crate::logged_attempt::{LoggedAttempt, Malformed};

/// Reads the lines of one file.
#[derive(Clone, Debug)]
pub(crate) enum Parser {
    /// The common and the combined format.
    Combined,
    /// JSON lines with these columns.
    Json(LogMap),
    /// CSV under its header.
    Csv(Box<Csv>),
}

impl Parser {
    /// The parser of this format; `None` if `first` had to be a header and has no time or status.
    pub(crate) fn new(format: AccessLogFormat, map: Option<&LogMap>, first: &[u8]) -> Option<Self> {
        let map = || map.map_or_else(|| LogMap::of(format), |map| map.completed(format));
        match format {
            AccessLogFormat::Combined => Some(Self::Combined),
            AccessLogFormat::Envoy | AccessLogFormat::JsonLines => Some(Self::Json(map())),
            AccessLogFormat::Csv => Csv::new(first, map()).map(|csv| Self::Csv(Box::new(csv))),
        }
    }

    /// Whether the first line is a header.
    pub(crate) const fn has_header(&self) -> bool {
        matches!(self, Self::Csv(_))
    }

    /// The attempt of a line.
    pub(crate) fn parse(&mut self, line: &[u8]) -> Result<LoggedAttempt, Malformed> {
        match self {
            Self::Combined => combined::parse(line),
            Self::Json(map) => json::parse(map, line),
            Self::Csv(csv) => csv.parse(line),
        }
    }
}

//! One parser for all lines of a file, and the format that its first lines tell.

use super::access_log_format::AccessLogFormat;
use super::columns::Csv;
use super::identity::{IdentityColumns, TextLine};
use super::map::LogMap;
use super::prefix::LinePrefix;
use super::w3c::ExtendedLog;
use super::{alb, columns, combined, envoy_text, haproxy, uwsgi};
use crate::logged_attempt::{LoggedAttempt, LoggedNames, Malformed};

/// Reads the lines of one file, without what a collector put before them.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    lines: FormatReader,
    /// The prefix of the lines so far, if one of them had any.
    prefix: Option<LinePrefix>,
}

/// The reader of a format.
#[derive(Clone, Debug)]
enum FormatReader {
    /// A text format, and what it may tell callers apart by.
    Text(TextParser, IdentityColumns),
    /// The extended format of the W3C.
    W3c(ExtendedLog),
    /// JSON lines with these columns.
    Json(LogMap),
    /// CSV under its header.
    Csv(Box<Csv>),
}

type TextParser = for<'l> fn(&'l [u8], IdentityColumns) -> Result<TextLine<'l>, Malformed>;

impl Parser {
    /// The parser of this format; `None` if `first` had to be a header and has no time or status, or if
    /// the map names columns of a format that has none.
    pub(crate) fn new(format: AccessLogFormat, map: Option<&LogMap>, first: &[u8]) -> Option<Self> {
        let columns = || map.map_or(Some(IdentityColumns::ALL), IdentityColumns::of);
        let text = |parse| Some(FormatReader::Text(parse, columns()?));
        let named = || map.map_or_else(|| LogMap::of(format), |map| map.completed(format));
        let (lines, prefix) = match format {
            AccessLogFormat::Combined => (text(combined::parse)?, None),
            AccessLogFormat::EnvoyText => (text(envoy_text::parse)?, None),
            AccessLogFormat::Alb => (text(alb::parse)?, None),
            AccessLogFormat::HaProxy => (text(haproxy::parse)?, None),
            AccessLogFormat::Uwsgi => (text(uwsgi::parse)?, None),
            AccessLogFormat::W3c => (FormatReader::W3c(ExtendedLog::new(columns()?)), None),
            AccessLogFormat::Envoy | AccessLogFormat::Caddy | AccessLogFormat::JsonLines => {
                (FormatReader::Json(named()), None)
            }
            AccessLogFormat::Csv => {
                let (csv, prefix) = headed(first, &named())?;
                (FormatReader::Csv(Box::new(csv)), prefix)
            }
        };
        Some(Self { lines, prefix })
    }

    /// Whether the first line is a header.
    pub(crate) const fn has_header(&self) -> bool {
        matches!(self.lines, FormatReader::Csv(_))
    }

    /// Whether the line is a directive, which is no attempt and no error; its column names are taken.
    pub(crate) fn is_directive(&mut self, line: &[u8]) -> bool {
        let FormatReader::W3c(log) = &mut self.lines else { return false };
        let candidates = LinePrefix::candidates(self.prefix);
        let mut stripped = candidates.filter_map(|prefix| prefix.strip(line));
        log.directive(line) || stripped.any(|rest| log.directive(&rest))
    }

    /// The attempt of a line.
    pub(crate) fn parse(&mut self, line: &[u8]) -> Result<LoggedAttempt, Malformed> {
        for prefix in LinePrefix::candidates(self.prefix) {
            let Some(rest) = prefix.strip(line) else { continue };
            if let Ok(attempt) = self.lines.parse(&rest) {
                self.prefix = Some(prefix);
                return Ok(attempt);
            }
        }
        self.lines.parse(line)
    }

    /// The attempt of a line with the names in it, handed to `take`.
    pub(crate) fn parse_named<T>(
        &mut self,
        line: &[u8],
        take: impl FnOnce(&LoggedAttempt, &LoggedNames<'_>) -> T,
    ) -> Result<T, Malformed> {
        for prefix in LinePrefix::candidates(self.prefix) {
            let Some(rest) = prefix.strip(line) else { continue };
            if self.lines.parse(&rest).is_ok() {
                self.prefix = Some(prefix);
                return self.lines.parse_named(&rest, take);
            }
        }
        self.lines.parse_named(line, take)
    }
}

impl FormatReader {
    fn parse(&mut self, line: &[u8]) -> Result<LoggedAttempt, Malformed> {
        match self {
            Self::Text(parse, columns) => parse(line, *columns).map(|text| text.attempt),
            Self::W3c(log) => log.parse(line).map(|text| text.attempt),
            Self::Json(map) => columns::parse(map, line),
            Self::Csv(csv) => csv.parse(line),
        }
    }

    fn parse_named<T>(
        &mut self,
        line: &[u8],
        take: impl FnOnce(&LoggedAttempt, &LoggedNames<'_>) -> T,
    ) -> Result<T, Malformed> {
        let record = match self {
            Self::Text(parse, columns) => {
                let text = parse(line, *columns)?;
                return Ok(take(&text.attempt, &text.names()));
            }
            Self::W3c(log) => {
                let text = log.parse(line)?;
                return Ok(take(&text.attempt, &text.names()));
            }
            Self::Json(map) => columns::record(map, line)?,
            Self::Csv(csv) => csv.record(line)?,
        };
        Ok(take(&record.attempt()?, &record.names()))
    }
}

/// The reader of CSV under this header, which may have a prefix like any line.
fn headed(first: &[u8], map: &LogMap) -> Option<(Csv, Option<LinePrefix>)> {
    let with = |prefix: LinePrefix| Csv::new(&prefix.strip(first)?, map.clone());
    let stripped = LinePrefix::ALL.iter().find_map(|&prefix| Some((with(prefix)?, Some(prefix))));
    stripped.or_else(|| Some((Csv::new(first, map.clone())?, None)))
}

/// Lines that are looked at: enough for a few strange ones among them.
pub(crate) const LOOKED_AT: usize = 32;

/// Formats by lines alone, in the order in which they are tried.
const BY_LINE: [AccessLogFormat; 5] = [
    AccessLogFormat::Combined,
    AccessLogFormat::EnvoyText,
    AccessLogFormat::HaProxy,
    AccessLogFormat::Uwsgi,
    AccessLogFormat::Alb,
];

impl AccessLogFormat {
    /// The format of these first lines: that which at least half of them have, or CSV if the first
    /// of them is a header with a time and a status.
    pub(crate) fn detect(lines: &[&[u8]], map: Option<&LogMap>) -> Option<Self> {
        let lines = &lines[..lines.len().min(LOOKED_AT)];
        let is_most = |count: usize| count > 0 && 2 * count >= lines.len();
        let by_line = BY_LINE.into_iter().find(|&format| is_most(format.parsed(lines)));
        let json = || json_format(lines, map.is_some(), is_most);
        let csv = || Parser::new(Self::Csv, map, lines.first()?).map(|_| Self::Csv);
        by_line.or_else(|| has_fields(lines).then_some(Self::W3c)).or_else(json).or_else(csv)
    }

    /// The format that most of these lines have, though it is not half of them; `None` if they have
    /// none at all.
    pub(crate) fn nearest(lines: &[&[u8]]) -> Option<Self> {
        let counted = Self::ALL.into_iter().map(|format| (format.parsed(lines), format));
        // The last of equal ones wins, so that those come first that are asked first.
        let best = counted.rev().max_by_key(|(count, _)| *count)?;
        (best.0 > 0).then_some(best.1)
    }

    /// Lines of this format among these.
    fn parsed(self, lines: &[&[u8]]) -> usize {
        let first = lines.first().copied().unwrap_or_default();
        let Some(mut parser) = Parser::new(self, None, first) else { return 0 };
        lines.iter().filter(|line| parser.parse(line).is_ok()).count()
    }
}

/// Whether one of these lines names the columns of the extended format of the W3C.
fn has_fields(lines: &[&[u8]]) -> bool {
    let names = |line: &[u8]| {
        let mut log = ExtendedLog::new(IdentityColumns::ALL);
        log.directive(line) && log.has_columns()
    };
    let stripped = |line: &[u8]| {
        LinePrefix::ALL.iter().any(|it| it.strip(line).is_some_and(|rest| names(&rest)))
    };
    lines.iter().any(|line| names(line) || stripped(line))
}

/// The format of JSON lines, by the names of their columns.
fn json_format(
    lines: &[&[u8]],
    is_mapped: bool,
    is_most: impl Fn(usize) -> bool,
) -> Option<AccessLogFormat> {
    let keys: Vec<Vec<String>> = lines.iter().map(|line| keys(line)).collect();
    let have = |names: &[&str]| {
        let has = |keys: &&Vec<String>| names.iter().all(|name| keys.iter().any(|key| key == name));
        is_most(keys.iter().filter(has).count())
    };
    if !is_most(keys.iter().filter(|keys| !keys.is_empty()).count()) {
        return None;
    }
    Some(match is_mapped {
        false if have(&["response_code"]) => AccessLogFormat::Envoy,
        false if have(&["ts", "request", "status", "duration", "logger"]) => AccessLogFormat::Caddy,
        _ => AccessLogFormat::JsonLines,
    })
}

/// The keys of a line's object, or of the one behind its prefix.
fn keys(line: &[u8]) -> Vec<String> {
    let stripped = LinePrefix::ALL.iter().filter_map(|prefix| prefix.strip(line));
    let inner = stripped.map(|rest| columns::keys(&rest)).find(|keys| !keys.is_empty());
    inner.unwrap_or_else(|| columns::keys(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(lines: &[&str]) -> Option<AccessLogFormat> {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        AccessLogFormat::detect(&lines, None)
    }

    const COMBINED: &str = r#"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5"#;

    #[test]
    fn each_format_is_told_by_its_lines() {
        assert_eq!(detect(&[COMBINED]), Some(AccessLogFormat::Combined));
        let envoy = r#"{"start_time":"2016-04-15T20:17:00.310Z","response_code":200}"#;
        assert_eq!(detect(&[envoy]), Some(AccessLogFormat::Envoy));
        assert_eq!(detect(&[r#"{"ts":1,"status":200}"#]), Some(AccessLogFormat::JsonLines));
        assert_eq!(detect(&["ts,status", "1,200"]), Some(AccessLogFormat::Csv));
        let caddy = r#"{"level":"info","ts":1646861401.52,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","uri":"/"},"duration":0.9,"status":200}"#;
        assert_eq!(detect(&[caddy]), Some(AccessLogFormat::Caddy));
        let fields = [
            "#Software: Microsoft Internet Information Services 10.0",
            "#Fields: date time sc-status",
            "2019-12-04 21:02:31 200",
        ];
        assert_eq!(detect(&fields), Some(AccessLogFormat::W3c));
        let alb = "h2 2018-07-02T22:23:00Z lb 1.2.3.4:5 - 0 0 0 200 200 1 2 \"GET http://a/ HTTP/2\" \"-\"";
        assert_eq!(detect(&[alb]), Some(AccessLogFormat::Alb));
    }

    #[test]
    fn a_prefix_does_not_hide_a_format_and_lines_without_it_are_read_too() {
        let prefixed = format!("<190>Feb  6 12:14:14 web1 nginx: {COMBINED}");
        assert_eq!(detect(&[&prefixed]), Some(AccessLogFormat::Combined));
        let mut parser = Parser::new(AccessLogFormat::Combined, None, b"").unwrap();
        let plain = parser.parse(COMBINED.as_bytes());
        assert_eq!(parser.parse(prefixed.as_bytes()), plain);
        assert_eq!(parser.parse(COMBINED.as_bytes()), plain);
        let json = r#"2016-10-06T00:17:09.66Z stdout F {"ts":1,"status":200}"#;
        assert_eq!(detect(&[json]), Some(AccessLogFormat::JsonLines));
        let csv = ["app-1  | ts,status", "app-1  | 1,200"];
        assert_eq!(detect(&csv), Some(AccessLogFormat::Csv));
        let mut parser = Parser::new(AccessLogFormat::Csv, None, csv[0].as_bytes()).unwrap();
        assert!(parser.parse(csv[1].as_bytes()).is_ok());
    }

    #[test]
    fn a_strange_line_among_others_does_not_matter_and_prose_is_no_log() {
        assert_eq!(detect(&["-- rotated --", COMBINED]), Some(AccessLogFormat::Combined));
        assert_eq!(detect(&["Dear all,", "the status is bad.", "Yours"]), None);
        assert_eq!(detect(&[]), None);
    }
}

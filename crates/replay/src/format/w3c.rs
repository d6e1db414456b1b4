//! The extended log file format of the W3C, as IIS and CloudFront write it.
//!
//! Directives begin with `#`; `#Fields:` names the columns of the lines below it, and may come again.
//! Dates and times are of ends and in UTC. `time-taken` is in seconds where it has decimals or the
//! log is CloudFront's, else in the milliseconds of IIS. Sources: the W3C working draft WD-logfile, the
//! documentation of IIS and of CloudFront.

use stagger_core::Span;

use super::identity::{IdentityColumns, TextLine};
use super::record::status;
use crate::logged_attempt::{LoggedAttempt, LoggedOutcome, Malformed};
use crate::stamp::{Stamp, Unit, nanos, text};

/// The columns that are read, in the order of [`ExtendedLog::places`].
const NAMES: [&str; 9] = [
    "date",
    "time",
    "sc-status",
    "time-taken",
    "c-ip",
    "cs-method",
    "cs-uri-stem",
    "cs-uri-query",
    "x-edge-location",
];
const DATE: usize = 0;
const TIME: usize = 1;
const STATUS: usize = 2;
const TAKEN: usize = 3;
const CLIENT: usize = 4;
const REQUEST: [usize; 3] = [5, 6, 7];
const EDGE: usize = 8;

/// A reader of lines below their directives.
#[derive(Clone, Debug)]
pub(crate) struct ExtendedLog {
    columns: IdentityColumns,
    /// The place of each name in a line.
    places: [Option<usize>; NAMES.len()],
    /// The date of the last `#Date:`, for lines that have only a time.
    date: String,
}

impl ExtendedLog {
    pub(super) const fn new(columns: IdentityColumns) -> Self {
        Self { columns, places: [None; NAMES.len()], date: String::new() }
    }

    /// Takes a directive; `false` for any other line.
    pub(super) fn directive(&mut self, line: &[u8]) -> bool {
        let Some(directive) = line.strip_prefix(b"#").and_then(text) else { return false };
        if let Some(names) = directive.strip_prefix("Fields:") {
            let names: Vec<&str> = names.split_ascii_whitespace().collect();
            self.places =
                NAMES.map(|name| names.iter().position(|own| own.eq_ignore_ascii_case(name)));
        } else if let Some(date) = directive.strip_prefix("Date:") {
            let date = date.split_ascii_whitespace().next();
            self.date = date.unwrap_or_default().to_owned();
        }
        true
    }

    /// Whether the columns have a time and a status.
    pub(super) const fn has_columns(&self) -> bool {
        self.places[TIME].is_some() && self.places[STATUS].is_some()
    }

    /// Reads one line.
    pub(super) fn parse<'l>(&mut self, line: &'l [u8]) -> Result<TextLine<'l>, Malformed> {
        if self.directive(line) {
            return Err("a directive");
        }
        if !self.has_columns() {
            return Err("no #Fields above it with time and sc-status");
        }
        let delimiter = if line.contains(&b'\t') { b'\t' } else { b' ' };
        let mut fields = [&b""[..]; NAMES.len()];
        for (place, text) in line.split(|&byte| byte == delimiter).enumerate() {
            let named = self.places.iter().position(|own| *own == Some(place));
            if let Some(name) = named {
                fields[name] = text;
            }
        }
        let stamp = self.stamp(fields[DATE], fields[TIME]).ok_or("no such time")?;
        let code = status(fields[STATUS]).ok_or("no status")?;
        let took = self.taken(fields[TAKEN]);
        let request = REQUEST.map(|part| fields[part]).join(&b' ');
        let attempt = LoggedAttempt {
            stamp,
            at_end: true,
            answer: LoggedOutcome::of(code, took, ""),
            took,
            worked: None,
            caller: self.columns.caller(b"", fields[CLIENT], &request),
            number: None,
            behind: 1,
        };
        Ok(TextLine::new(attempt, fields[CLIENT], request))
    }

    fn stamp(&self, date: &[u8], time: &[u8]) -> Option<Stamp> {
        let date = if date.is_empty() { &self.date } else { text(date)? };
        Stamp::iso(&format!("{date}T{}", text(time)?))
    }

    fn taken(&self, text: &[u8]) -> Option<Span> {
        let in_seconds = self.places[EDGE].is_some() || text.contains(&b'.');
        let unit = if in_seconds { Unit::Seconds } else { Unit::Millis };
        nanos(text, unit).map(|(span, _)| span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str, line: &str) -> Result<LoggedAttempt, Malformed> {
        let mut log = ExtendedLog::new(IdentityColumns::ALL);
        assert!(log.directive(b"#Version: 1.0"));
        assert!(log.directive(b"#Date: 2019-12-04 21:02:31"));
        assert!(log.directive(fields.as_bytes()));
        log.parse(line.as_bytes()).map(|line| line.attempt)
    }

    #[test]
    fn iis_takes_milliseconds_and_cloudfront_seconds() {
        let iis = read(
            "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken",
            "2019-12-04 21:02:31 10.0.0.5 GET /index.html - 443 - 192.0.2.10 Mozilla/5.0+(Windows+NT+10.0) - 503 0 0 515",
        );
        let iis = iis.unwrap();
        assert_eq!(iis.stamp.to_string(), "2019-12-04T21:02:31Z");
        assert_eq!((iis.took, iis.answer), (Some(Span::from_millis(515)), LoggedOutcome::Failed));
        assert!(iis.at_end);
        let edge = read(
            "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken",
            "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(Windows)\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\td111111abcdef8.cloudfront.net\thttps\t23\t2",
        );
        assert_eq!(edge.unwrap().took, Some(Span::from_secs(2)));
    }

    #[test]
    fn a_line_with_a_time_alone_has_the_date_of_its_directive() {
        let attempt = read("#Fields: time cs-method cs-uri sc-status", "00:34:23 GET /foo 200");
        assert_eq!(attempt.unwrap().stamp.to_string(), "2019-12-04T00:34:23Z");
    }

    #[test]
    fn what_is_missing_is_named() {
        let fields = "#Fields: date time sc-status";
        for (line, why) in [
            ("", "no such time"),
            ("2019-12-04 21:02:31", "no status"),
            ("2019-13-04 21:02:31 200", "no such time"),
            ("#Remark: hello", "a directive"),
        ] {
            assert_eq!(read(fields, line), Err(why), "{line}");
        }
        let without = read("#Fields: date c-ip", "2019-12-04 10.0.0.1");
        assert_eq!(without, Err("no #Fields above it with time and sc-status"));
    }
}

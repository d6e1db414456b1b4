//! CSV with a header; commas, semicolons or tabs between the columns, one record a line.

use std::borrow::Cow;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::map::{LogMap, Meaning};
use super::record::LogRecord;
use crate::logged_attempt::{LoggedAttempt, Malformed};
use crate::stamp::text;

/// More columns than any log has; what comes behind them is not looked at.
const MOST_COLUMNS: usize = 1024;

/// A reader of records under one header.
#[derive(Clone, Debug)]
pub(crate) struct Csv {
    delimiter: u8,
    map: LogMap,
    /// The places of columns in a record, with their ranks in the map.
    places: Vec<(usize, usize)>,
    /// The texts of a record, one behind the other, and where each ends.
    texts: Vec<u8>,
    ends: Vec<usize>,
}

impl Csv {
    /// A reader under this header, if it has a time and a status among its columns.
    pub(super) fn new(header: &[u8], map: LogMap) -> Option<Self> {
        [b',', b';', b'\t'].into_iter().find_map(|delimiter| Self::by(delimiter, header, &map))
    }

    fn by(delimiter: u8, header: &[u8], map: &LogMap) -> Option<Self> {
        let (places, texts, ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut csv = Self { delimiter, map: map.clone(), places, texts, ends };
        let names = csv.split(header).ok()?;
        let place = |name: &str| {
            (0..names).find(|&place| {
                csv.field(place).is_some_and(|own| own.trim().eq_ignore_ascii_case(name))
            })
        };
        let columns = map.columns().iter().enumerate();
        let places: Vec<_> =
            columns.filter_map(|(rank, column)| Some((place(&column.name)?, rank))).collect();
        let has = |meaning| places.iter().any(|&(_, rank)| map.columns()[rank].meaning == meaning);
        if !((has(Meaning::Time) || has(Meaning::End)) && has(Meaning::Status)) {
            return None;
        }
        csv.places = places;
        Some(csv)
    }

    /// Reads one record.
    pub(super) fn parse(&mut self, line: &[u8]) -> Result<LoggedAttempt, Malformed> {
        self.split(line)?;
        let mut record = LogRecord::default();
        for &(place, rank) in &self.places {
            let Some(text) = self.field(place) else { continue };
            record.note(rank, &self.map.columns()[rank], Cow::Borrowed(text));
        }
        record.attempt()
    }

    /// Splits a line, and says how many columns it has.
    fn split(&mut self, line: &[u8]) -> Result<usize, Malformed> {
        let mut reader: Reader = ReaderBuilder::new().delimiter(self.delimiter).build();
        self.texts.resize(line.len().max(1), 0);
        self.ends.resize(MOST_COLUMNS, 0);
        let (mut read, mut wrote, mut ended) = (0, 0, 0);
        // The second round, with nothing more to read, tells the reader that the line has ended.
        for _ in 0..2 {
            let (result, took, text, ends) = reader.read_record(
                line.get(read..).unwrap_or_default(),
                self.texts.get_mut(wrote..).unwrap_or_default(),
                self.ends.get_mut(ended..).unwrap_or_default(),
            );
            (read, wrote, ended) = (read + took, wrote + text, ended + ends);
            if matches!(result, ReadRecordResult::Record) {
                self.ends.truncate(ended);
                return Ok(ended);
            }
        }
        self.ends.clear();
        Err("no record")
    }

    fn field(&self, place: usize) -> Option<&str> {
        let start = if place == 0 { 0 } else { *self.ends.get(place - 1)? };
        text(self.texts.get(start..*self.ends.get(place)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::AccessLogFormat;
    use crate::logged_outcome::LoggedOutcome;
    use stagger_core::Span;

    fn csv(header: &str) -> Option<Csv> {
        Csv::new(header.as_bytes(), LogMap::of(AccessLogFormat::Csv))
    }

    #[test]
    fn quotes_and_all_three_delimiters_are_read() {
        for (header, line) in [
            ("Time,path,status,latency", "1700000000,\"/a,\"\"b\"\"\",503,12"),
            ("time;status;latency", "1700000000;503;12"),
            ("time\tstatus\tlatency\tmore", "1700000000\t503\t12"),
        ] {
            let attempt = csv(header).unwrap().parse(line.as_bytes()).unwrap();
            assert_eq!(attempt.answer, LoggedOutcome::Failed, "{line}");
            assert_eq!(attempt.took, Some(Span::from_millis(12)), "{line}");
        }
    }

    #[test]
    fn a_header_without_time_or_status_is_none() {
        for header in ["", "time", "time,size", "status,size", "1700000000,200"] {
            assert!(csv(header).is_none(), "{header}");
        }
    }

    #[test]
    fn short_and_broken_records_are_malformed() {
        let mut csv = csv("time,status").unwrap();
        for (line, why) in [
            ("", "no record"),
            ("1700000000", "no status"),
            ("x,200", "no such time"),
            (",200", "no time"),
        ] {
            assert_eq!(csv.parse(line.as_bytes()), Err(why), "{line}");
        }
        // A quote that is never closed takes the rest of its line and no more.
        assert!(csv.parse(b"\"1700000000,200").is_err());
        assert!(csv.parse(b"1700000000,200").is_ok());
    }
}

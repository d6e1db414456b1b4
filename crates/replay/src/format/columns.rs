//! Lines with named columns: JSON, and CSV with a header.
//!
//! Of a JSON object only the columns that mean something are kept. Commas, semicolons or tabs are between
//! the columns of CSV.

use std::borrow::Cow;
use std::fmt;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::map::{LogMap, Meaning};
use super::record::LogRecord;
use crate::logged_attempt::{LoggedAttempt, Malformed};
use crate::stamp::text;

/// Reads one line.
pub(super) fn parse(map: &LogMap, line: &[u8]) -> Result<LoggedAttempt, Malformed> {
    record(map, line)?.attempt()
}

/// Reads the texts of one line.
pub(super) fn record<'l>(map: &LogMap, line: &'l [u8]) -> Result<LogRecord<'l>, Malformed> {
    let line = text(line).ok_or("not UTF-8")?;
    let mut record = LogRecord::default();
    let mut reader = serde_json::Deserializer::from_str(line);
    let columns = JsonColumns { map, record: &mut record, inside: "" };
    reader.deserialize_map(columns).map_err(|_| "no JSON object")?;
    reader.end().map_err(|_| "more than a JSON object")?;
    Ok(record)
}

/// The keys of an object on its top level; none if it is no object.
pub(super) fn keys(line: &[u8]) -> Vec<String> {
    let object = serde_json::from_slice::<std::collections::BTreeMap<String, IgnoredAny>>(line);
    object.map(|object| object.into_keys().collect()).unwrap_or_default()
}

/// Notes the texts of one object, and of objects within it: `http.status` is the `status` in `http`.
struct JsonColumns<'m, 'r, 'l> {
    map: &'m LogMap,
    record: &'r mut LogRecord<'l>,
    /// The names of the objects that this one is in, each with a point behind it.
    inside: &'m str,
}

impl<'l> Visitor<'l> for JsonColumns<'_, '_, 'l> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(ColumnName(name)) = object.next_key()? {
            let all = self.map.columns().iter().enumerate();
            let here = all.filter_map(|(rank, column)| {
                let rest = column.name.strip_prefix(self.inside)?.strip_prefix(name.as_ref())?;
                (rest.is_empty() || rest.starts_with('.')).then_some((rank, column, rest))
            });
            if here.clone().next().is_none() {
                object.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = object.next_value::<&'l RawValue>()?.get();
            if value.starts_with('{') {
                descend(self.map, self.record, &format!("{}{name}.", self.inside), value);
            } else if let Some(text) = plain(value) {
                for (rank, column, _) in here.filter(|(_, _, rest)| rest.is_empty()) {
                    self.record.note(rank, column, text.clone());
                }
            }
        }
        Ok(())
    }
}

/// Fields inside an object that cannot be read are skipped; serde_json bounds how deep objects go, and a
/// map how deep they are looked into.
fn descend<'l>(map: &LogMap, record: &mut LogRecord<'l>, inside: &str, object: &'l str) {
    let mut reader = serde_json::Deserializer::from_str(object);
    // The outer reader has accepted the object already.
    reader.deserialize_map(JsonColumns { map, record, inside }).unwrap_or_default();
}

/// The text of a string or of a number, as it stands there; nothing else is a text.
fn plain(raw: &str) -> Option<Cow<'_, str>> {
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str::<ColumnName<'_>>(raw).ok().map(|name| name.0),
        b'-' | b'0'..=b'9' => Some(Cow::Borrowed(raw)),
        _ => None,
    }
}

/// A string that is borrowed when it has no escapes.
#[derive(serde::Deserialize)]
struct ColumnName<'l>(#[serde(borrow)] Cow<'l, str>);

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
        self.record(line)?.attempt()
    }

    /// Reads the texts of one record.
    pub(super) fn record(&mut self, line: &[u8]) -> Result<LogRecord<'_>, Malformed> {
        self.split(line)?;
        let mut record = LogRecord::default();
        for &(place, rank) in &self.places {
            let Some(text) = self.field(place) else { continue };
            record.note(rank, &self.map.columns()[rank], Cow::Borrowed(text));
        }
        Ok(record)
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
    use stagger_core::Span;

    use super::*;
    use crate::format::AccessLogFormat;
    use crate::logged_attempt::LoggedOutcome;

    fn read(map: &str, line: &str) -> Result<LoggedAttempt, Malformed> {
        parse(
            &map.parse::<LogMap>().unwrap().completed(AccessLogFormat::JsonLines),
            line.as_bytes(),
        )
    }

    #[test]
    fn columns_within_objects_are_found_by_their_path() {
        let line =
            r#"{"t":1700000000.25,"http":{"res":{"code":503},"x":[1,{"code":1}]},"took":"12ms"}"#;
        let attempt = read("time=t,status=http.res.code,duration=took", line).unwrap();
        assert_eq!(attempt.stamp.since_epoch, Span::from_millis(1_700_000_000_250));
        assert_eq!(
            (attempt.answer, attempt.took),
            (LoggedOutcome::Failed, Some(Span::from_millis(12)))
        );
    }

    #[test]
    fn a_column_may_have_a_point_in_its_name() {
        let line = r#"{"time":"1700000000","http.status":"200 OK","\u0061ttempt":2}"#;
        let attempt = read("status=http.status", line).unwrap();
        assert_eq!((attempt.answer, attempt.number), (LoggedOutcome::Served, Some(2)));
    }

    #[test]
    fn numbers_keep_all_their_digits() {
        let attempt = read("time=t", r#"{"t":1700000000.123456789,"status":200}"#).unwrap();
        assert_eq!(attempt.stamp.since_epoch.as_nanos(), 1_700_000_000_123_456_789);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, why) in [
            ("", "no JSON object"),
            ("[1]", "no JSON object"),
            ("{\"ts\":1", "no JSON object"),
            ("{} {}", "more than a JSON object"),
            ("{\"status\":200}", "no time"),
            ("{\"ts\":true,\"status\":200}", "no time"),
            ("{\"ts\":1700000000}", "no status"),
            ("{\"ts\":1700000000,\"status\":\"-\"}", "no status"),
            ("{\"ts\":\"now\",\"status\":200}", "no such time"),
            ("{\"ts\":1700000000,\"status\":2000}", "no such status"),
            ("{\"ts\":1700000000,\"status\":200,\"took\":\"long\"}", "no such duration"),
            ("{\"ts\":1700000000,\"status\":200,\"attempt\":-1}", "no such number of attempts"),
        ] {
            assert_eq!(read("time=ts", line), Err(why), "{line}");
        }
    }

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

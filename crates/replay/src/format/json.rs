//! JSON lines: one object a line, of which only the columns that mean something are kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::map::LogMap;
use super::record::LogRecord;
use crate::logged_attempt::{LoggedAttempt, Malformed};
use crate::stamp::text;

/// Reads one line.
pub(super) fn parse(map: &LogMap, line: &[u8]) -> Result<LoggedAttempt, Malformed> {
    let line = text(line).ok_or("not UTF-8")?;
    let mut record = LogRecord::default();
    let mut reader = serde_json::Deserializer::from_str(line);
    let columns = JsonColumns { map, record: &mut record, inside: "" };
    reader.deserialize_map(columns).map_err(|_| "no JSON object")?;
    reader.end().map_err(|_| "more than a JSON object")?;
    record.attempt()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::AccessLogFormat;
    use crate::logged_outcome::LoggedOutcome;
    use stagger_core::Span;

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
}

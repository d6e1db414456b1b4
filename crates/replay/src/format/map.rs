//! The meaning of the columns of formats that name them.

use std::str::FromStr;

use stagger_core::ConfigError;

use super::access_log_format::AccessLogFormat;
use crate::stamp::Unit;

/// The meaning of the columns of a CSV file or of JSON lines, as in
/// `time=ts,status=code,duration=took:us,client=ip,attempt=try`.
///
/// What is not named keeps the names that are looked for by themselves.
///
/// ```
/// use stagger_replay::LogMap;
/// assert!("time=ts,status=http.code,duration=took:us".parse::<LogMap>().is_ok());
/// let error = "time=ts,stauts=code".parse::<LogMap>().unwrap_err();
/// assert!(error.to_string().starts_with("log-map = stauts=code: must be"), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMap {
    /// In the order in which they are preferred.
    columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) meaning: Meaning,
    pub(super) name: String,
    /// Of a duration that is written as a bare number.
    pub(super) unit: Unit,
}

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The start of the attempt.
    Time,
    /// The end of the attempt.
    End,
    Status,
    /// The duration of the attempt.
    Duration,
    /// The time that the backend worked on it; a list for several backends.
    Work,
    Client,
    Path,
    /// An id that all attempts of one call share.
    Id,
    /// Its number in its call, from 1.
    Attempt,
    /// The same, from 0.
    Retry,
    /// Envoy's response flags.
    Flags,
    /// Attempts that a proxy made behind the line.
    Behind,
}

/// Meanings in all.
pub(super) const MEANINGS: usize = 12;

/// Their words in a map, in the order of [`Meaning`].
const WORDS: [(&str, Meaning); MEANINGS] = [
    ("time", Meaning::Time),
    ("end", Meaning::End),
    ("status", Meaning::Status),
    ("duration", Meaning::Duration),
    ("work", Meaning::Work),
    ("client", Meaning::Client),
    ("path", Meaning::Path),
    ("id", Meaning::Id),
    ("attempt", Meaning::Attempt),
    ("retry", Meaning::Retry),
    ("flags", Meaning::Flags),
    ("behind", Meaning::Behind),
];

/// Names that are looked for in any CSV file and in any JSON lines.
const USUAL: [(Meaning, &[&str]); 10] = [
    (
        Meaning::Time,
        &[
            "time",
            "timestamp",
            "@timestamp",
            "ts",
            "start_time",
            "start",
            "time_iso8601",
            "datetime",
            "date",
        ],
    ),
    (Meaning::End, &["end_time", "time_local", "msec", "end"]),
    (Meaning::Status, &["status", "status_code", "code", "response_code", "http_status"]),
    (
        Meaning::Duration,
        &[
            "duration",
            "duration_ms",
            "latency",
            "latency_ms",
            "request_time",
            "elapsed",
            "elapsed_ms",
            "took",
            "took_ms",
            "response_time",
        ],
    ),
    (Meaning::Work, &["upstream_response_time"]),
    (Meaning::Client, &["client", "client_ip", "remote_addr", "remote_ip", "ip", "source_ip"]),
    (Meaning::Path, &["path", "request_uri", "uri", "url", "request"]),
    (Meaning::Id, &["request_id", "x_request_id", "x-request-id", "idempotency_key", "id"]),
    (Meaning::Attempt, &["attempt", "try"]),
    (Meaning::Retry, &["retry"]),
];

/// The names of Envoy's operators, as its documentation and Istio write them.
const ENVOY: [(Meaning, &[&str]); 9] = [
    (Meaning::Time, &["start_time"]),
    (Meaning::Status, &["response_code"]),
    (Meaning::Duration, &["duration"]),
    (Meaning::Work, &["upstream_service_time", "x_envoy_upstream_service_time"]),
    (Meaning::Client, &["x_forwarded_for", "downstream_remote_address"]),
    (Meaning::Path, &["x_envoy_original_path", "path"]),
    (Meaning::Id, &["request_id", "x_request_id", "x-request-id"]),
    (Meaning::Flags, &["response_flags"]),
    (Meaning::Behind, &["upstream_request_attempt_count"]),
];

/// The names of Caddy's access log, whose times are in seconds and whose stamp is of the end.
const CADDY: [(Meaning, &[&str]); 5] = [
    (Meaning::End, &["ts"]),
    (Meaning::Status, &["status"]),
    (Meaning::Duration, &["duration"]),
    (Meaning::Client, &["request.client_ip", "request.remote_ip"]),
    (Meaning::Path, &["request.uri"]),
];

impl LogMap {
    /// The names that are looked for by themselves in this format.
    pub(super) fn of(format: AccessLogFormat) -> Self {
        let (table, unit): (&[(Meaning, &[&str])], _) = match format {
            AccessLogFormat::Envoy => (&ENVOY, None),
            AccessLogFormat::Caddy => (&CADDY, Some(Unit::Seconds)),
            _ => (&USUAL, None),
        };
        let column = |meaning, name: &&str| Column::new(meaning, name, unit);
        let columns = table
            .iter()
            .flat_map(|(meaning, names)| names.iter().map(move |name| column(*meaning, name)));
        Self { columns: columns.collect() }
    }

    /// The same with what this one leaves open.
    pub(super) fn completed(&self, format: AccessLogFormat) -> Self {
        // A start is not looked for when an end was named, nor one count of attempts for the other.
        let group = |meaning| match meaning {
            Meaning::End => Meaning::Time,
            Meaning::Retry => Meaning::Attempt,
            other => other,
        };
        let named = |other: &Column| {
            self.columns.iter().any(|own| group(own.meaning) == group(other.meaning))
        };
        let usual = Self::of(format).columns.into_iter().filter(|column| !named(column));
        Self { columns: self.columns.iter().cloned().chain(usual).collect() }
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }
}

impl Column {
    fn new(meaning: Meaning, name: &str, unit: Option<Unit>) -> Self {
        let in_seconds = matches!(name, "request_time" | "upstream_response_time");
        let usual = if in_seconds { Unit::Seconds } else { Unit::Millis };
        let unit = unit.or_else(|| Unit::of_name(name)).unwrap_or(usual);
        Self { meaning, name: name.to_owned(), unit }
    }
}

impl FromStr for LogMap {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let columns = text.split(',').map(|part| column(part.trim()).ok_or_else(|| refused(part)));
        Ok(Self { columns: columns.collect::<Result<_, _>>()? })
    }
}

fn column(text: &str) -> Option<Column> {
    let (word, name) = text.split_once('=')?;
    let (_, meaning) = WORDS.iter().find(|(own, _)| *own == word)?;
    let (name, unit) = match name.rsplit_once(':') {
        Some((name, unit)) => (name, Some(Unit::of_symbol(unit)?)),
        None => (name, None),
    };
    (!name.is_empty()).then(|| Column::new(*meaning, name, unit))
}

fn refused(part: &str) -> ConfigError {
    let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
    let bound = format!(
        "WORD=COLUMN or WORD=COLUMN:UNIT, with a word of {} and a unit of s, ms, us, ns",
        words.join(", "),
    );
    ConfigError::new("log-map", part, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(map: &LogMap, meaning: Meaning) -> Vec<&str> {
        let own = map.columns.iter().filter(|column| column.meaning == meaning);
        own.map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn a_map_replaces_what_it_names_and_nothing_else() {
        let map: LogMap = "end=done,status=code,duration=ms".parse().unwrap();
        let map = map.completed(AccessLogFormat::Csv);
        assert_eq!(names(&map, Meaning::End), ["done"]);
        assert!(names(&map, Meaning::Time).is_empty());
        assert_eq!(names(&map, Meaning::Status), ["code"]);
        assert!(names(&map, Meaning::Client).contains(&"remote_addr"));
    }

    #[test]
    fn a_unit_is_said_or_told_by_the_name_and_else_milliseconds() {
        let unit = |text: &str| text.parse::<LogMap>().unwrap().columns[0].unit;
        assert_eq!(unit("duration=took:us"), Unit::Micros);
        assert_eq!(unit("duration=ms"), Unit::Millis);
        assert_eq!(unit("duration=latency_ns"), Unit::Nanos);
        assert_eq!(unit("duration=request_time"), Unit::Seconds);
        assert_eq!(unit("duration=took"), Unit::Millis);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for text in ["", "time", "time=", "when=ts", "duration=took:hours", "time=ts,"] {
            assert!(text.parse::<LogMap>().is_err(), "{text}");
        }
    }
}

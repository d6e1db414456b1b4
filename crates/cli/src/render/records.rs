//! Reports for programs: rows as one JSON object, and the same rows as comma-separated values.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use stagger_core::Span;
use stagger_sim::{CaseReport, EntryReport, Stat, StormReport};
use stagger_text::rounded;

use super::log_findings::LogFindings;
use super::storm::Storm;

/// Shares are from 0 to 1, peaks are in events a second, the rest has its unit in its name.
#[derive(Debug, Serialize)]
struct StormPage<'a> {
    scenario: &'a str,
    about: &'a str,
    seed: u64,
    runs: u32,
    /// Calls of the largest run.
    clients: u64,
    /// The setting that the cases vary; null for one case.
    varied: Option<&'a str>,
    rows: Vec<StormRow<'a>>,
    options: Map<String, Value>,
    /// The findings in a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<&'a LogFindings>,
}

/// Figures are null in a row without runs.
#[derive(Debug, Serialize)]
struct StormRow<'a> {
    case: &'a str,
    value: f64,
    law: &'a str,
    runs: u64,
    calls: Option<f64>,
    peak_rps: Option<Figure>,
    amplification: Option<f64>,
    success: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times_none: Option<f64>,
    /// Peak of retries before the server is up.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rps_before: Option<Figure>,
    /// The worst second of retries over the mean second, where the scenario looks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_over_mean: Option<f64>,
    /// The mean of the runs that recovered; null when none did.
    time_to_recover_s: Option<f64>,
    /// The number of those that did.
    healed: u64,
    /// The runs that seemed to recover and failed again.
    relapsed: u64,
    /// The runs without a verdict when their calls ended.
    not_within_watch: u64,
    /// The verdict on all runs in one word; null in a row without runs.
    recovery: Option<&'static str>,
    wasted: Option<f64>,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    events: u64,
    /// A checksum over all events of all runs.
    digest: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figure {
    mean: f64,
    sd: f64,
}

impl From<Stat> for Figure {
    fn from(stat: Stat) -> Self {
        Self { mean: rounded(stat.mean), sd: rounded(stat.sd) }
    }
}

/// One object on several lines.
pub(crate) fn json(storm: &Storm<'_>) -> String {
    let report = storm.report;
    page(&StormPage {
        scenario: &report.name,
        about: &report.about,
        seed: report.seed,
        runs: report.runs,
        clients: storm.clients(),
        varied: report.varied.as_deref(),
        rows: lines(*storm).collect(),
        options: options(*storm),
        log: storm.log,
    })
}

/// The columns of CSV: each has a name, and a place in the JSON of a row.
pub(crate) type CsvColumns<'c> = &'c [(&'c str, &'c [&'c str])];

const COLUMNS: CsvColumns<'static> = &[
    ("case", &["case"]),
    ("value", &["value"]),
    ("law", &["law"]),
    ("runs", &["runs"]),
    ("calls", &["calls"]),
    ("peak_rps_mean", &["peak_rps", "mean"]),
    ("peak_rps_sd", &["peak_rps", "sd"]),
    ("amplification", &["amplification"]),
    ("success", &["success"]),
    ("time_to_recover_s", &["time_to_recover_s"]),
    ("healed", &["healed"]),
    ("recovery", &["recovery"]),
    ("wasted", &["wasted"]),
    ("p50_ms", &["p50_ms"]),
    ("p95_ms", &["p95_ms"]),
    ("p99_ms", &["p99_ms"]),
    ("events", &["events"]),
    ("digest", &["digest"]),
];

/// One line a row.
pub(crate) fn csv(storm: &Storm<'_>) -> String {
    let Some(log) = storm.log else {
        return csv_lines(Some(storm.report), COLUMNS, lines(*storm));
    };
    let more = log.columns();
    let names = more.each_ref().map(|(name, _)| [*name]);
    let extra = names.iter().map(|path| (path[0], path.as_slice()));
    let columns: Vec<(&str, &[&str])> = COLUMNS.iter().copied().chain(extra).collect();
    let rows = lines(*storm).map(|row| {
        let mut row = serde_json::to_value(row).expect("plain structs have a JSON form");
        for (name, text) in &more {
            row[*name] = text.as_str().into();
        }
        row
    });
    csv_lines(Some(storm.report), &columns, rows)
}

fn lines<'a>(storm: Storm<'a>) -> impl Iterator<Item = StormRow<'a>> {
    storm.rows().map(move |(case, row)| line(storm, case, row))
}

fn line<'a>(storm: Storm<'a>, case: &'a CaseReport, row: &'a EntryReport) -> StormRow<'a> {
    let played = row.runs > 0;
    let figure = |value: f64| played.then(|| rounded(value));
    let [p50_ms, p95_ms, p99_ms] = row.latency.map(|latency| latency.map(millis));
    StormRow {
        case: &case.label,
        value: rounded(case.value),
        law: &row.name,
        runs: row.runs,
        calls: figure(row.calls),
        peak_rps: played.then(|| row.peak.into()),
        amplification: figure(row.amplification),
        success: figure(row.success),
        times_none: case.times_unjittered(row).filter(|_| played).map(rounded),
        peak_rps_before: (played && storm.looks_before()).then(|| row.peak_retries.into()),
        worst_over_mean: row.worst_over_mean.filter(|_| played).map(rounded),
        time_to_recover_s: time_to_recover(row),
        healed: row.recovery.healed,
        relapsed: row.recovery.relapsed,
        not_within_watch: row.recovery.not_within_watch,
        recovery: verdict(row),
        wasted: figure(row.wasted),
        p50_ms,
        p95_ms,
        p99_ms,
        events: row.events,
        digest: digest(row),
    }
}

/// The mean of the runs that recovered, in seconds.
pub(super) fn time_to_recover(row: &EntryReport) -> Option<f64> {
    (row.recovery.healed > 0).then(|| rounded(row.recovery.seconds.mean))
}

/// The verdict on recovery in one word.
pub(super) fn verdict(row: &EntryReport) -> Option<&'static str> {
    (row.runs > 0).then(|| row.verdict().word())
}

/// The checksum as it is written in reports.
pub(super) fn digest(row: &EntryReport) -> String {
    format!("{:016x}", row.digest)
}

/// The settings of all rows: spans in milliseconds, numbers as numbers, the rest as words.
fn options(storm: Storm<'_>) -> Map<String, Value> {
    let named = |(name, value): &(String, String)| {
        let name = name.replace([' ', '-'], "_");
        if let Ok(number) = value.parse::<u64>() {
            (name, number.into())
        } else if let Ok(span) = value.parse() {
            (name + "_ms", millis(span).into())
        } else {
            (name, value.as_str().into())
        }
    };
    let mut options: Map<String, Value> = storm.report.parameters.iter().map(named).collect();
    options.insert("bucket_ms".to_owned(), millis(stagger_sim::BUCKET).into());
    options
}

/// Any page as JSON text with a newline at its end.
pub(crate) fn page(page: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(page);
    text.expect("plain structs with string keys have a JSON form") + "\n"
}

pub(crate) fn millis(span: Span) -> f64 {
    rounded(span.as_secs_f64() * 1e3)
}

/// A header and one line a row, behind the name and the seed of the report; figures that there are none of are empty
/// fields.
pub(crate) fn csv_lines(
    report: Option<&StormReport>,
    columns: CsvColumns<'_>,
    rows: impl Iterator<Item = impl Serialize>,
) -> String {
    let lead = report.map(|report| [quoted(&report.name).into_owned(), report.seed.to_string()]);
    let lead_names = report.map(|_| ["scenario", "seed"].map(str::to_owned));
    let names = columns.iter().map(|(name, _)| quoted(name).into_owned());
    let mut page =
        lead_names.into_iter().flatten().chain(names).collect::<Vec<_>>().join(",") + "\n";
    for row in rows {
        let row = serde_json::to_value(row).expect("plain structs have a JSON form");
        let place = |path: &[&str]| path.iter().try_fold(&row, |within, key| within.get(key));
        let fields = columns.iter().map(|(_, path)| field(place(path)));
        let fields: Vec<_> = lead.iter().flatten().cloned().chain(fields).collect();
        page += &(fields.join(",") + "\n");
    }
    page
}

fn field(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => quoted(text).into_owned(),
        // JSON ends whole figures in `.0`.
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (None, Some(figure)) => figure.to_string(),
            _ => number.to_string(),
        },
        Some(other) => other.to_string(),
    }
}

/// A name with quotes around it where it needs them (RFC 4180, section 2).
fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_name_made_two_fields_of_it() {
        assert_eq!(quoted("full, 6"), "\"full, 6\"");
        assert_eq!(quoted("so-called \"full\""), "\"so-called \"\"full\"\"\"");
        assert_eq!(quoted("full"), "full");
    }
}

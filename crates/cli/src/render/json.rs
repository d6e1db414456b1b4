//! A report as one JSON object.

use serde::Serialize;
use stagger_sim::{Row, Stat};

use super::figure::rounded;
use super::storm::Storm;

/// Shares are from 0 to 1, peaks are in events a second, spans in milliseconds.
#[derive(Debug, Serialize)]
struct Page<'a> {
    scenario: &'a str,
    seed: u64,
    runs: u32,
    rows: Vec<Line>,
    options: Options,
}

#[derive(Debug, Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    spacing_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outage_ms: Option<f64>,
    law: &'static str,
    peak_rps: Figure,
    amplification: f64,
    success: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    times_none: Option<f64>,
    /// Peak of retries before the server is up.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rps_before: Option<Figure>,
}

#[derive(Debug, Serialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    callers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    up_at_ms: Option<f64>,
    attempts: u32,
    base_ms: f64,
    cap_ms: f64,
    bucket_ms: f64,
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
    let report = storm.report();
    page(&Page {
        scenario: storm.name(),
        seed: report.seed,
        runs: report.runs,
        rows: report.rows.iter().map(|row| line(storm, row)).collect(),
        options: Options {
            callers: storm.callers(),
            up_at_ms: match storm {
                Storm::Lockstep(scenario, _) => Some(millis(scenario.up_at)),
                _ => None,
            },
            attempts: report.schedule.attempts,
            base_ms: millis(report.schedule.base),
            cap_ms: millis(report.schedule.cap),
            bucket_ms: millis(stagger_sim::BUCKET),
        },
    })
}

fn line(storm: &Storm<'_>, row: &Row) -> Line {
    let case = |name| (storm.case() == Some(name)).then(|| millis(row.case));
    let lockstep = matches!(storm, Storm::Lockstep(..));
    Line {
        spacing_ms: case("spacing"),
        outage_ms: case("outage"),
        law: row.law.name(),
        peak_rps: row.peak.into(),
        amplification: rounded(row.amplification),
        success: rounded(row.success),
        times_none: storm.report().times_unjittered(row).map(rounded),
        peak_rps_before: lockstep.then(|| row.peak_before.into()),
    }
}

/// Any page as JSON text with a newline at its end.
pub(super) fn page(page: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(page);
    text.expect("plain structs with string keys have a JSON form") + "\n"
}

pub(super) fn millis(span: stagger_core::Span) -> f64 {
    rounded(span.as_secs_f64() * 1e3)
}

//! Measured runs beside the lab's: a block a row for people, JSON and CSV for programs.

use serde::Serialize;
use stagger_core::Span;
use stagger_load::{LoadBounds, LoadComparison, LoadFigures, LoadRows, RunEnd, SkippedRow};
use stagger_sim::RecoveryState;
use stagger_text::{SPACE, brief, grouped, hanging, percent, whole};

use super::records::{csv_lines, millis, page};
use super::table::{align, plain, text};

/// A call that begins later than this begins in another bucket of the figures.
const LATE: Span = Span::from_millis(50);

/// The rows of a scenario that were measured.
#[derive(Debug)]
pub(crate) struct LoadReport {
    scenario: String,
    seed: u64,
    url: String,
    bounds: LoadBounds,
    /// Rows in all; those that are not measured were not begun.
    planned: usize,
    pub(crate) rows: Vec<LoadComparison>,
    skipped: Vec<SkippedRow>,
}

impl LoadReport {
    /// A report without a row.
    pub(crate) fn new(rows: &LoadRows, url: &str, bounds: LoadBounds) -> Self {
        Self {
            scenario: rows.scenario.clone(),
            seed: rows.seed,
            url: url.to_owned(),
            bounds,
            planned: rows.rows.len(),
            rows: Vec::new(),
            skipped: rows.skipped.clone(),
        }
    }
}

/// A figure with its name, its text, and its value where a deviation has a meaning.
struct ComparedFigure {
    name: &'static str,
    text: fn(&LoadFigures) -> String,
    value: fn(&LoadFigures) -> Option<f64>,
}

const FIGURES: [ComparedFigure; 8] = [
    ComparedFigure {
        name: "calls",
        text: |it| whole(it.calls, SPACE),
        value: |it| Some(float(it.calls)),
    },
    ComparedFigure {
        name: "attempts",
        text: |it| whole(it.attempts, SPACE),
        value: |it| Some(float(it.attempts)),
    },
    ComparedFigure {
        name: "peak/s",
        text: |it| grouped(it.peak, SPACE),
        value: |it| Some(it.peak),
    },
    ComparedFigure {
        name: "attempts a call",
        text: |it| it.attempts_a_call.map_or_else(nothing, |it| format!("{it:.2}")),
        value: |it| it.attempts_a_call,
    },
    ComparedFigure {
        name: "success",
        text: |it| it.success.map_or_else(nothing, percent),
        value: |it| it.success,
    },
    ComparedFigure {
        name: "p50",
        text: |it| it.p50.map_or_else(nothing, brief),
        value: |it| it.p50.map(Span::as_secs_f64),
    },
    ComparedFigure {
        name: "p99",
        text: |it| it.p99.map_or_else(nothing, brief),
        value: |it| it.p99.map(Span::as_secs_f64),
    },
    ComparedFigure {
        name: "recovers",
        text: |it| recovery(it.recovery),
        value: |it| it.recovery.recovered().map(Span::as_secs_f64),
    },
];

/// The report for people.
pub(crate) fn load_table(report: &LoadReport, width: usize) -> String {
    let LoadReport { scenario, seed, url, .. } = report;
    let title = format!("storm {scenario} against {url}: seed {seed}, one run a row");
    let mut blocks = vec![hanging(&title, width, 2)];
    blocks.extend(report.rows.iter().map(block));
    let notes: Vec<String> = notes(report).iter().map(|note| hanging(note, width, 2)).collect();
    blocks.push(notes.join("\n"));
    blocks.join("\n\n") + "\n"
}

fn block(row: &LoadComparison) -> String {
    let mut table = plain(&[&row.name, "lab", "measured", "deviation"].map(str::to_owned));
    for figure in &FIGURES {
        let deviation = row.deviation(figure.value).map_or_else(nothing, signed);
        let (model, measured) = ((figure.text)(&row.model), (figure.text)(&row.measured));
        table.add_row([figure.name.to_owned(), model, measured, deviation]);
    }
    align(&mut table, 1..4);
    text(&table)
}

/// The doubts about the figures, and the way to read them.
fn notes(report: &LoadReport) -> Vec<String> {
    let mut notes = Vec::new();
    for row in &report.rows {
        let name = &row.name;
        if row.run.end != RunEnd::Complete {
            notes.push(format!(
                "{name}: {}, {} calls were not over: these figures are those of a part",
                row.run.end.words(),
                row.run.unfinished
            ));
        }
        if row.run.latest_start > LATE {
            notes.push(format!(
                "{name}: calls began up to {} late: this machine is too busy to measure well",
                brief(row.run.latest_start)
            ));
        }
        let redirects = row.run.answers.redirects();
        if redirects > 0 {
            notes.push(format!(
                "{name}: {redirects} answers were redirects, which are not followed"
            ));
        }
    }
    let left = report.planned - report.rows.len();
    if left > 0 {
        notes.push(format!("{left} of {} rows were not begun", report.planned));
    }
    for SkippedRow { name, reason } in &report.skipped {
        notes.push(format!("{name}: not played, because {reason}"));
    }
    notes.push(
        "peak/s: the fullest 50 ms from where the scenario looks for it; a server without the scenario's \
         faults differs from the lab by them"
            .to_owned(),
    );
    notes
}

/// A page for programs.
#[derive(Serialize)]
struct LoadJson<'r> {
    scenario: &'r str,
    seed: u64,
    url: &'r str,
    bounds: JsonBounds,
    rows: Vec<RowJson<'r>>,
    not_begun: usize,
    skipped: Vec<SkippedJson<'r>>,
}

#[derive(Serialize)]
struct JsonBounds {
    rate: u32,
    time_s: f64,
    connections: u32,
}

#[derive(Serialize)]
struct RowJson<'r> {
    row: &'r str,
    model: FiguresJson,
    measured: FiguresJson,
    deviation: DeviationJson,
    end: &'static str,
    unfinished: u64,
    late_ms: f64,
    statuses: std::collections::BTreeMap<String, u64>,
    errors: u64,
    unanswered: u64,
}

#[derive(Serialize)]
struct FiguresJson {
    calls: u64,
    attempts: u64,
    peak_rps: f64,
    attempts_a_call: Option<f64>,
    success: Option<f64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    recovery: &'static str,
    recovery_s: Option<f64>,
}

#[derive(Serialize)]
struct DeviationJson {
    attempts: Option<f64>,
    peak: Option<f64>,
    attempts_a_call: Option<f64>,
    success: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
    recovery: Option<f64>,
}

#[derive(Serialize)]
struct SkippedJson<'r> {
    row: &'r str,
    reason: &'r str,
}

/// One object.
pub(crate) fn load_json(report: &LoadReport) -> String {
    let LoadBounds { rate, time, connections } = report.bounds;
    let skipped = report.skipped.iter();
    page(&LoadJson {
        scenario: &report.scenario,
        seed: report.seed,
        url: &report.url,
        bounds: JsonBounds { rate, time_s: time.as_secs_f64(), connections },
        rows: report.rows.iter().map(row).collect(),
        not_begun: report.planned - report.rows.len(),
        skipped: skipped.map(|it| SkippedJson { row: &it.name, reason: it.reason }).collect(),
    })
}

fn row(row: &LoadComparison) -> RowJson<'_> {
    let deviation = |figure: fn(&LoadFigures) -> Option<f64>| row.deviation(figure).map(rounded);
    let answers = &row.run.answers;
    let statuses = answers.statuses.iter();
    RowJson {
        row: &row.name,
        model: figures(&row.model),
        measured: figures(&row.measured),
        deviation: DeviationJson {
            attempts: deviation(|it| Some(float(it.attempts))),
            peak: deviation(|it| Some(it.peak)),
            attempts_a_call: deviation(|it| it.attempts_a_call),
            success: deviation(|it| it.success),
            p50: deviation(|it| it.p50.map(Span::as_secs_f64)),
            p99: deviation(|it| it.p99.map(Span::as_secs_f64)),
            recovery: deviation(|it| it.recovery.recovered().map(Span::as_secs_f64)),
        },
        end: row.run.end.word(),
        unfinished: row.run.unfinished,
        late_ms: millis(row.run.latest_start),
        statuses: statuses.map(|(status, count)| (status.to_string(), *count)).collect(),
        errors: answers.errors,
        unanswered: answers.unanswered,
    }
}

fn figures(it: &LoadFigures) -> FiguresJson {
    FiguresJson {
        calls: it.calls,
        attempts: it.attempts,
        peak_rps: it.peak,
        attempts_a_call: it.attempts_a_call.map(rounded),
        success: it.success.map(rounded),
        p50_ms: it.p50.map(millis),
        p99_ms: it.p99.map(millis),
        recovery: word(it.recovery),
        recovery_s: it.recovery.recovered().map(|after| rounded(after.as_secs_f64())),
    }
}

const COLUMNS: [(&str, &[&str]); 16] = [
    ("row", &["row"]),
    ("model_attempts", &["model", "attempts"]),
    ("measured_attempts", &["measured", "attempts"]),
    ("model_peak_rps", &["model", "peak_rps"]),
    ("measured_peak_rps", &["measured", "peak_rps"]),
    ("peak_deviation", &["deviation", "peak"]),
    ("model_success", &["model", "success"]),
    ("measured_success", &["measured", "success"]),
    ("model_p50_ms", &["model", "p50_ms"]),
    ("measured_p50_ms", &["measured", "p50_ms"]),
    ("model_p99_ms", &["model", "p99_ms"]),
    ("measured_p99_ms", &["measured", "p99_ms"]),
    ("model_recovery_s", &["model", "recovery_s"]),
    ("measured_recovery_s", &["measured", "recovery_s"]),
    ("late_ms", &["late_ms"]),
    ("end", &["end"]),
];

/// A line a row.
pub(crate) fn load_csv(report: &LoadReport) -> String {
    csv_lines(None, &COLUMNS, report.rows.iter().map(row))
}

fn recovery(state: RecoveryState) -> String {
    match state {
        RecoveryState::Recovered(after) => brief(after),
        RecoveryState::Relapsed(_) => "relapsed".to_owned(),
        RecoveryState::NotWithinWatch => "not within the watch".to_owned(),
        RecoveryState::TroubleLasts => "trouble lasts".to_owned(),
        RecoveryState::Never => "never".to_owned(),
    }
}

const fn word(state: RecoveryState) -> &'static str {
    match state {
        RecoveryState::Recovered(_) => "recovered",
        RecoveryState::Relapsed(_) => "relapsed",
        RecoveryState::NotWithinWatch => "not-within-watch",
        RecoveryState::TroubleLasts => "trouble-lasts",
        RecoveryState::Never => "never",
    }
}

/// A deviation in per cent, with its sign.
fn signed(share: f64) -> String {
    let text = format!("{:+.1} %", share * 100.0);
    if text == "-0.0 %" { "+0.0 %".to_owned() } else { text }
}

fn rounded(value: f64) -> f64 {
    stagger_text::rounded(value)
}

fn nothing() -> String {
    "-".to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run stay far below 2^53")]
const fn float(count: u64) -> f64 {
    // OK because a run has at most millions of attempts.
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_of_nothing_had_a_minus() {
        let texts = [0.0, -0.0004, 0.104, -0.25, 3.0].map(signed);
        assert_eq!(texts, ["+0.0 %", "+0.0 %", "+10.4 %", "-25.0 %", "+300.0 %"]);
    }
}

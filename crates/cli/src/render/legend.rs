//! The words around a table: what was played, and how to read it.

use std::collections::BTreeSet;

use stagger_core::Instant;
use stagger_sim::{CaseReport, Peak, RecoveryVerdict};
use stagger_text::brief;

use super::measures::Measure;
use super::storm::{ArrivalsWindow, Storm};
use super::wrap::hanging;

/// Columns of the names in the legend.
const NAMES: usize = 12;
/// The column of the second line of a heading.
const INDENT: usize = 2;

/// Scenario, seed and parameters.
pub(super) fn heading(storm: Storm<'_>, width: usize) -> String {
    let report = storm.report;
    let parameters = report.parameters.iter().map(|(name, value)| format!(", {name} {value}"));
    let parameters: String = parameters.collect();
    let title = format!("storm {}: {}", report.name, report.about);
    let settings = format!("seed {}, {}{parameters}", report.seed, runs(report.runs));
    format!("{}\n{}", hanging(&title, width, INDENT), hanging(&settings, width, INDENT))
}

pub(super) fn runs(n: u32) -> String {
    if n == 1 { "1 run".to_owned() } else { format!("{n} runs") }
}

/// The legend of the columns, and the lesson of the scenario.
pub(super) fn reading(
    storm: Storm<'_>,
    measures: &[&Measure],
    bars: usize,
    width: usize,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut say = |name: &str, means: &str| {
        lines.push(format!("{name:<NAMES$}{}", hanging(means, width, NAMES)));
    };
    for measure in measures {
        match measure.means {
            "" => say(measure.name, &peak(storm)),
            means => say(measure.name, means),
        }
    }
    for (verdict, means) in VERDICTS {
        if storm.rows().any(|(_, row)| row.runs > 0 && row.verdict() == verdict) {
            say("", &format!("{}: {means}", verdict.words()));
        }
    }
    say("arrivals", &arrivals(storm, bars));
    lines.extend(stopped(storm));
    let lesson: Vec<&str> = storm.report.lesson.split_whitespace().collect();
    if !lesson.is_empty() {
        lines.extend([String::new(), hanging(&lesson.join(" "), width, 0)]);
    }
    lines.join("\n")
}

/// Verdicts that need an explanation under the table.
const VERDICTS: [(RecoveryVerdict, &str); 3] = [
    (RecoveryVerdict::Relapsed, "it seemed to recover, failed again and did not come back"),
    (
        RecoveryVerdict::NotWithinWatch,
        "the calls ended before a verdict was possible: watch longer",
    ),
    (RecoveryVerdict::TroubleLasts, "it does not end, so there is no recovery to time"),
];

fn peak(storm: Storm<'_>) -> String {
    let counted = match storm.report.peak {
        Peak::Attempts => "attempts",
        Peak::Served => "calls served",
    };
    let from = peak_from(storm);
    format!("{counted} a second in the fullest 50 ms{from}; mean and sd of one run")
}

/// The start of the stretch in which peaks are looked for, in words; empty for the whole run.
fn peak_from(storm: Storm<'_>) -> String {
    let starts: BTreeSet<Instant> = storm.watches().map(|watch| watch.peak_in().from).collect();
    match starts.first() {
        None | Some(&Instant::ORIGIN) if starts.len() < 2 => String::new(),
        _ if storm.watches().all(|watch| watch.peak_from.is_none()) => " after the outage".into(),
        Some(&only) if starts.len() == 1 => format!(" from {} on", brief(only - Instant::ORIGIN)),
        _ => " from where each case says".into(),
    }
}

fn arrivals(storm: Storm<'_>, bars: usize) -> String {
    let cases = &storm.report.cases;
    let windows: Vec<ArrivalsWindow> =
        cases.iter().map(|case| ArrivalsWindow::of(storm, case, bars)).collect();
    let range = |of: fn(&ArrivalsWindow) -> stagger_core::Span| {
        let (least, most) = (windows.iter().map(of).min(), windows.iter().map(of).max());
        match (least, most) {
            (Some(least), Some(most)) if least != most => {
                format!("{} to {}", brief(least), brief(most))
            }
            (Some(only), _) => brief(only),
            _ => String::new(),
        }
    };
    let (start, bar) = (range(ArrivalsWindow::start), range(ArrivalsWindow::bar));
    let scale = if cases.len() > 1 { "one scale for a block" } else { "one scale for all" };
    format!("attempts over time from {start} on, {scale}; one bar is {bar}")
}

/// The note on a report that was stopped before its end.
fn stopped(storm: Storm<'_>) -> Option<String> {
    let all = u64::from(storm.report.runs);
    let played = |case: &CaseReport| {
        let rows = case.rows.iter().filter(|row| row.name != stagger_replay::OBSERVED);
        rows.map(|row| row.runs).collect::<Vec<_>>()
    };
    let runs: Vec<u64> = storm.report.cases.iter().flat_map(played).collect();
    let (least, most) = (*runs.iter().min()?, *runs.iter().max()?);
    let told = if least == most { least.to_string() } else { format!("{least} to {most}") };
    (least < all).then(|| format!("\nStopped early: every row has {told} of {all} runs."))
}

//! The columns of a table, one a measure and only those that the scenario has, and the words around it.

use std::collections::BTreeSet;

use stagger_core::{Instant, Span};
use stagger_sim::{CaseReport, EntryReport, Peak, RecoveryVerdict};
use stagger_text::{SPACE, brief, grouped, hanging, percent};

use super::answer;
use super::storm::{ArrivalsWindow, Storm};

/// A column of figures.
pub(super) struct Measure {
    pub(super) name: &'static str,
    /// The meaning, for the legend.
    pub(super) means: &'static str,
    /// Whether this row says anything by it.
    says: fn(&CaseReport, &EntryReport) -> bool,
    pub(super) cell: fn(&CaseReport, &EntryReport) -> String,
}

/// All there are, in their order.
const MEASURES: [Measure; 9] = [
    Measure {
        name: "peak/s",
        means: "", // depends on the scenario
        says: |_, row| row.peak.mean > 0.0,
        cell: |_, row| spread(grouped(row.peak.mean, SPACE), &grouped(row.peak.sd, SPACE)),
    },
    Measure {
        name: "× none",
        means: "that peak over the peak of un-jittered exponential backoff",
        says: |case, row| case.times_unjittered(row).is_some(),
        cell: |case, row| {
            case.times_unjittered(row).map_or_else(nothing, |times| format!("{times:.2}"))
        },
    },
    Measure {
        name: "worst/mean",
        means: "the worst second of retries over the mean second",
        says: |_, row| row.worst_over_mean.is_some(),
        cell: |_, row| row.worst_over_mean.map_or_else(nothing, |worst| format!("{worst:.2}")),
    },
    Measure {
        name: "attempts",
        means: "attempts a call, the first included",
        says: |_, row| row.amplification > 0.0,
        cell: |_, row| format!("{:.2}", row.amplification),
    },
    Measure {
        name: "success",
        means: "calls that ended well",
        says: |_, row| row.calls > 0.0,
        cell: |_, row| percent(row.success),
    },
    Measure {
        name: "wasted",
        means: "work that was finished for nobody, of all that was finished",
        says: |_, row| row.wasted > 0.0,
        cell: |_, row| percent(row.wasted),
    },
    Measure {
        name: "recovers",
        means: "seconds until the storm is over; or in how many runs it ever was",
        says: |_, row| {
            let has_verdict = row.verdict() != RecoveryVerdict::TroubleLasts;
            let healed = row.recovery.healed;
            has_verdict && (healed < row.runs || row.recovery.seconds.mean > 0.0)
        },
        cell: |_, row| recovers(row),
    },
    Measure {
        name: "p50",
        means: "how long half of the calls that ended well took at most",
        says: |_, row| row.latency[0].is_some_and(|took| took > Span::ZERO),
        cell: |_, row| row.latency[0].map_or_else(nothing, brief),
    },
    Measure {
        name: "p99",
        means: "and 99 of 100",
        says: |_, row| row.latency[2].is_some_and(|took| took > Span::ZERO),
        cell: |_, row| row.latency[2].map_or_else(nothing, brief),
    },
];

/// The measures that some row of this storm says anything by.
pub(super) fn measures(storm: Storm<'_>) -> Vec<&'static Measure> {
    let said = |measure: &&Measure| {
        storm.rows().any(|(case, row)| row.runs > 0 && (measure.says)(case, row))
    };
    MEASURES.iter().filter(said).collect()
}

/// The figure of this row, which has none without runs.
pub(super) fn cell(measure: &Measure, case: &CaseReport, row: &EntryReport) -> String {
    if row.runs == 0 { nothing() } else { (measure.cell)(case, row) }
}

fn recovers(row: &EntryReport) -> String {
    let seconds = row.recovery.seconds;
    match row.verdict() {
        RecoveryVerdict::Partly => format!("{} of {}", row.recovery.healed, row.runs),
        RecoveryVerdict::Recovered => spread(tenths(seconds.mean), &tenths(seconds.sd)) + " s",
        without => without.words().to_owned(),
    }
}

/// A mean with its spread, where it has any that is seen.
fn spread(mean: String, sd: &str) -> String {
    if sd.chars().any(|c| ('1'..='9').contains(&c)) { format!("{mean}±{sd}") } else { mean }
}

/// Seconds with as many decimals as mean anything.
fn tenths(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.2}") } else { format!("{seconds:.1}") }
}

fn nothing() -> String {
    "-".to_owned()
}

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
    if storm.read_out && storm.report.lesson.is_empty() {
        let sentences = answer::sentences(storm);
        lines.extend(sentences.iter().flat_map(|text| [String::new(), hanging(text, width, 0)]));
    }
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
    let range = |of: fn(&ArrivalsWindow) -> Span| {
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

//! The columns of a table: one a measure, and only those that the scenario has.

use stagger_core::Span;
use stagger_sim::{CaseReport, EntryReport, RecoveryVerdict};
use stagger_text::{SPACE, brief, grouped, percent};

use super::storm::Storm;

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

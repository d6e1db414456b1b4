//! The reading of a table in words: every sentence is made of the figures of the report.

use stagger_core::Instant;
use stagger_sim::{CaseReport, EntryReport, RecoveryVerdict};
use stagger_text::{SPACE, grouped, percent};

use super::storm::Storm;

/// The row of a scenario file that has the retries of the outage itself.
const AS_IT_WAS: &str = "as it was";
/// The row of a policy from the command line, in an outage that ships.
pub(crate) const YOURS: &str = "yours";

/// The sentences under a table: the conditions of each case, the row of the outage, what recovers and
/// what does not, and the row of the reader's own policy.
pub(super) fn sentences(storm: Storm<'_>) -> Vec<String> {
    storm.report.cases.iter().filter_map(|case| of_case(storm, case)).collect()
}

fn of_case(storm: Storm<'_>, case: &CaseReport) -> Option<String> {
    let rows: Vec<&EntryReport> = case.rows.iter().filter(|row| row.runs > 0).collect();
    let subject = rows.iter().find(|row| row.name == AS_IT_WAS);
    let yours = rows.iter().filter(|row| row.name.starts_with(YOURS));
    let told = subject.into_iter().chain(yours).map(|row| told(row));
    let parts = [back(&rows), not_back(&rows)].into_iter().flatten();
    let parts: Vec<String> = told.chain(parts).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", conditions(storm, case), parts.join(" ")))
}

/// The calls, the capacity and the trouble that the figures are of.
fn conditions(storm: Storm<'_>, case: &CaseReport) -> String {
    let label = match storm.report.cases.len() {
        1 => String::new(),
        _ => format!("{}: ", case.label),
    };
    let calls = case.rows.iter().map(|row| row.calls).fold(0.0, f64::max);
    let capacity = case.capacity.map(|attempts| {
        format!(", for a server that works on {} attempts a second", grouped(attempts, SPACE))
    });
    let trouble: Vec<String> =
        case.outages.iter().filter(|(from, until)| from < until).map(length).collect();
    let trouble = match trouble.is_empty() {
        true => String::new(),
        false => format!(", with trouble {}", trouble.join(" and ")),
    };
    format!("{label}With {} calls{}{trouble}", grouped(calls, SPACE), capacity.unwrap_or_default())
}

fn length((from, until): &(Instant, Instant)) -> String {
    format!("from {} to {}", *from - Instant::ORIGIN, *until - Instant::ORIGIN)
}

/// One row in a sentence.
fn told(row: &EntryReport) -> String {
    format!(
        "'{}' peaks at {} a second, makes {:.2} attempts a call, serves {} and {}.",
        row.name,
        grouped(row.peak.mean, SPACE),
        row.amplification,
        percent(row.success),
        verdict(row)
    )
}

fn verdict(row: &EntryReport) -> String {
    match row.verdict() {
        RecoveryVerdict::Recovered => {
            format!("recovers in {} s", seconds(row.recovery.seconds.mean))
        }
        RecoveryVerdict::Partly => {
            format!("recovers in {} of {} runs", row.recovery.healed, row.runs)
        }
        RecoveryVerdict::Relapsed => "recovers and fails again".to_owned(),
        RecoveryVerdict::NotWithinWatch => "has no verdict when its calls end".to_owned(),
        RecoveryVerdict::TroubleLasts => "has trouble to its end".to_owned(),
        RecoveryVerdict::Never => "does not recover while it is watched".to_owned(),
    }
}

/// The rows that recover in every run, the quickest first, with the share of calls that they serve.
fn back(rows: &[&EntryReport]) -> Option<String> {
    let mut back: Vec<&EntryReport> = rows.to_vec();
    back.retain(|row| row.verdict() == RecoveryVerdict::Recovered);
    back.sort_by(|a, b| a.recovery.seconds.mean.total_cmp(&b.recovery.seconds.mean));
    let row = |row: &&EntryReport| {
        let took = seconds(row.recovery.seconds.mean);
        format!("{} ({took} s, {} served)", row.name, percent(row.success))
    };
    let names: Vec<String> = back.iter().map(row).collect();
    (!names.is_empty()).then(|| format!("What recovers: {}.", names.join(", ")))
}

/// The rows that recover in no run, or not in every one.
fn not_back(rows: &[&EntryReport]) -> Option<String> {
    let stuck = |row: &&&EntryReport| {
        !matches!(row.verdict(), RecoveryVerdict::Recovered | RecoveryVerdict::TroubleLasts)
    };
    let row = |row: &&EntryReport| match row.verdict() {
        RecoveryVerdict::Never => format!("{} ({} served)", row.name, percent(row.success)),
        _ => format!("{} ({} served, {})", row.name, percent(row.success), verdict(row)),
    };
    let names: Vec<String> = rows.iter().filter(stuck).map(row).collect();
    (!names.is_empty()).then(|| format!("What does not: {}.", names.join(", ")))
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}

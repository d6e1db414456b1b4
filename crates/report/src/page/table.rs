//! All figures of one case as a table.

use stagger_sim::{CaseReport, EntryReport, RecoveryVerdict, Stat};
use stagger_text::{brief, percent};

use crate::numbers::{grouped, number, seconds};
use crate::render::Html;
use crate::style::Styles;

/// A column: its head, and what it says of a row; `None` where there is nothing to say.
struct Column {
    head: &'static str,
    cell: fn(&CaseReport, &EntryReport) -> Option<FigureCell>,
}

const COLUMNS: [Column; 12] = [
    Column { head: "peak/s", cell: |_, row| Some(spread(row.peak, grouped)) },
    Column {
        head: "× un-jittered",
        cell: |case, row| Some(number(case.times_unjittered(row)?).into()),
    },
    Column { head: "attempts a call", cell: |_, row| Some(number(row.amplification).into()) },
    Column { head: "success", cell: |_, row| Some(percent(row.success).into()) },
    Column {
        head: "wasted",
        cell: |_, row| Some(percent(row.wasted).into()).filter(|_| row.wasted > 0.0),
    },
    Column { head: "recovery", cell: |_, row| Some(recovery(row)) },
    Column {
        head: "runs recovered",
        cell: |_, row| Some(format!("{} of {}", row.recovery.healed, row.runs).into()),
    },
    Column { head: "latency p50", cell: |_, row| row.latency[0].map(|it| brief(it).into()) },
    Column { head: "p95", cell: |_, row| row.latency[1].map(|it| brief(it).into()) },
    Column { head: "p99", cell: |_, row| row.latency[2].map(|it| brief(it).into()) },
    Column { head: "longest queue", cell: |_, row| queue(row) },
    Column { head: "attempts a run", cell: |_, row| Some(spread(row.attempts, grouped)) },
];

/// All figures of one case, as the page shows them.
pub(super) struct FiguresTable {
    pub(super) label: Html,
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<FiguresRow>,
}

/// The figures of one entry.
pub(super) struct FiguresRow {
    /// The class of the swatch before its name.
    pub(super) key: String,
    pub(super) name: Html,
    /// One a column; none where there is nothing to say.
    pub(super) cells: Vec<Option<FigureCell>>,
}

/// A figure with its standard deviation.
pub(super) struct FigureCell {
    pub(super) value: String,
    pub(super) spread: Option<String>,
}

impl FiguresTable {
    /// The columns that say something of any entry.
    pub(super) fn of(case: &CaseReport, styles: &Styles) -> Self {
        let says_something =
            |column: &&Column| case.rows.iter().any(|row| (column.cell)(case, row).is_some());
        let columns: Vec<&Column> = COLUMNS.iter().filter(says_something).collect();
        let row = |row: &EntryReport| FiguresRow {
            key: crate::render::class_of(styles.get(&row.name)),
            name: Html::text(&row.name),
            cells: columns.iter().map(|column| (column.cell)(case, row)).collect(),
        };
        Self {
            label: Html::text(&case.label),
            heads: columns.iter().map(|column| column.head).collect(),
            rows: case.rows.iter().map(row).collect(),
        }
    }
}

impl From<String> for FigureCell {
    fn from(value: String) -> Self {
        Self { value, spread: None }
    }
}

fn spread(stat: Stat, shown: fn(f64) -> String) -> FigureCell {
    FigureCell { value: shown(stat.mean), spread: (stat.sd > 0.0).then(|| shown(stat.sd)) }
}

fn recovery(row: &EntryReport) -> FigureCell {
    match row.verdict() {
        RecoveryVerdict::Recovered | RecoveryVerdict::Partly => {
            spread(row.recovery.seconds, seconds)
        }
        without => without.words().to_owned().into(),
    }
}

fn queue(row: &EntryReport) -> Option<FigureCell> {
    (row.queued_most.mean > 0.0).then(|| spread(row.queued_most, grouped))
}

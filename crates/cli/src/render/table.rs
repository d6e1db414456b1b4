//! A report as a table: seed and options first, then one row a law, then how to read it.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use stagger_core::Span;
use stagger_sim::{BUCKET, Report, Row};

use super::figure::{grouped, percent};
use super::notes;
use super::sparkline::{merged, sparkline};
use super::storm::Storm;

/// Columns of the picture: with the figures beside it, a line stays within 100.
const BARS: usize = 20;
/// The share of a law's attempts that the picture must hold; single stragglers are left out.
const SHOWN: f64 = 0.995;

/// The page for people.
pub(crate) fn table(storm: &Storm<'_>) -> String {
    let report = storm.report();
    let mut table = plain(&header(storm));
    for (index, row) in report.rows.iter().enumerate() {
        let first = index == 0 || report.rows[index - 1].case != row.case;
        table.add_row(cells(storm, row, first));
    }
    let numbers = usize::from(storm.case().is_some()) + 1;
    align(&mut table, numbers..numbers + 5);
    format!(
        "{}\n\n{table_text}\n\n{}\n",
        notes::heading(storm),
        notes::reading(storm),
        table_text = text(&table)
    )
}

fn header(storm: &Storm<'_>) -> Vec<String> {
    let case = storm.case().map(str::to_owned);
    let names = ["law", "peak/s", "sd", "× none", "attempts", "success", "arrivals"];
    case.into_iter().chain(names.map(str::to_owned)).collect()
}

fn cells(storm: &Storm<'_>, row: &Row, first: bool) -> Vec<String> {
    let case = if first { row.case.to_string() } else { String::new() };
    let times = storm.report().times_unjittered(row);
    let cells = [
        row.law.to_string(),
        grouped(row.peak.mean),
        grouped(row.peak.sd),
        times.map_or_else(|| "-".to_owned(), |times| format!("{times:.2}")),
        format!("{:.2}", row.amplification),
        percent(row.success),
        picture(storm, row),
    ];
    storm.case().map(|_| case).into_iter().chain(cells).collect()
}

/// Arrivals of one row; all rows of one case share one scale and one axis.
///
/// The first bar of `lockstep` holds everybody's first attempt under every law. It is cut off at the
/// height of the fullest later bar, because the later ones are what the laws differ in.
fn picture(storm: &Storm<'_>, row: &Row) -> String {
    let window = Window::of(storm, row.case);
    let case = storm.report().rows.iter().filter(|other| other.case == row.case);
    let cut = usize::from(matches!(storm, Storm::Lockstep(..)));
    let bars = case.flat_map(|row| window.bars(row).into_iter().skip(cut));
    let full = bars.fold(0.0, f64::max);
    sparkline(&window.bars(row), full)
}

/// The buckets that the picture of one case shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    from: usize,
    until: usize,
    per_bar: usize,
}

impl Window {
    pub(super) fn of(storm: &Storm<'_>, case: Span) -> Self {
        let (from, until) = storm.picture(case);
        let bucket = |at: stagger_core::Instant| {
            usize::try_from(at.as_nanos() / BUCKET.as_nanos()).unwrap_or(usize::MAX)
        };
        let from = bucket(from);
        let until = bucket(until).min(busy_until(storm.report(), case)).max(from + 1);
        Self { from, until, per_bar: (until - from).div_ceil(BARS) }
    }

    /// When the first bar begins.
    pub(super) fn start(&self) -> Span {
        BUCKET.saturating_mul(self.from as u64)
    }

    /// What one bar covers.
    pub(super) fn bar(&self) -> Span {
        BUCKET.saturating_mul(self.per_bar as u64)
    }

    fn bars(&self, row: &Row) -> Vec<f64> {
        let until = self.until.min(row.arrivals.len());
        merged(row.arrivals.get(self.from..until).unwrap_or(&[]), self.per_bar)
    }
}

/// The bucket by which every law of this case has made nearly all its attempts.
fn busy_until(report: &Report, case: Span) -> usize {
    let by = |row: &Row| {
        let all: f64 = row.arrivals.iter().sum();
        let mut sum = 0.0;
        let done = row.arrivals.iter().position(|count| {
            sum += count;
            sum >= SHOWN * all
        });
        done.map_or(0, |bucket| bucket + 1)
    };
    report.rows.iter().filter(|row| row.case == case).map(by).max().unwrap_or(0)
}

/// A table with a line under its header and no other lines.
pub(super) fn plain(header: &[String]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(header.to_vec());
    table
}

/// Sets the columns of numbers flush right.
pub(super) fn align(table: &mut Table, numbers: std::ops::Range<usize>) {
    for index in numbers {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The table's text without blanks at the ends of lines.
pub(super) fn text(table: &Table) -> String {
    table.trim_fmt()
}

//! A report as a table: seed and options first, then one block a case, then how to read it.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use stagger_core::Span;
use stagger_sim::{BUCKET, CaseReport, Row};

use super::measures::{self, Measure};
use super::notes;
use super::sparkline::{merged, sparkline};
use super::storm::Storm;

/// Columns that a line should stay within.
const WIDTH: usize = 100;
/// Columns of the picture: as many as the figures leave, within these bounds.
const BARS: (usize, usize) = (8, 20);
/// Blanks that the table puts around a cell.
const AROUND: usize = 2;

/// The page for people.
pub(crate) fn table(storm: &Storm<'_>) -> String {
    let measures = measures::measures(*storm);
    let names = measures.iter().map(|measure| measure.name.to_owned());
    let header: Vec<String> = std::iter::once("entry".to_owned()).chain(names).collect();
    let rows: Vec<Vec<String>> =
        storm.rows().map(|(case, row)| cells(&measures, case, row)).collect();
    let bars = bars(&header, &rows);
    let mut table = plain(&[&header[..], &["arrivals".to_owned()]].concat());
    for (cells, (case, row)) in rows.into_iter().zip(storm.rows()) {
        let picture = Window::of(*storm, case, bars).picture(case, row);
        table.add_row(cells.into_iter().chain([picture]));
    }
    align(&mut table, 1..measures.len() + 1);
    format!(
        "{}\n\n{}\n\n{}\n",
        notes::heading(*storm),
        blocks(*storm, &text(&table)),
        notes::reading(*storm, &measures, bars),
    )
}

fn cells(measures: &[&Measure], case: &CaseReport, row: &Row) -> Vec<String> {
    let figures = measures.iter().map(|measure| measures::cell(measure, case, row));
    std::iter::once(row.name.clone()).chain(figures).collect()
}

/// What the figures leave for the picture.
fn bars(header: &[String], rows: &[Vec<String>]) -> usize {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(header.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0) + AROUND
    };
    let figures: usize = (0..header.len()).map(width).sum();
    WIDTH.saturating_sub(figures + 1).clamp(BARS.0, BARS.1)
}

/// The rows of each case under its own heading; all blocks have the same columns.
fn blocks(storm: Storm<'_>, table: &str) -> String {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.by_ref().take(2).collect();
    let header = header.join("\n");
    let case = |case: &CaseReport| {
        let rows: Vec<&str> = lines.by_ref().take(case.rows.len()).collect();
        let heading = match storm.report.cases.len() {
            1 => String::new(),
            _ => format!("{}\n", case.label),
        };
        format!("{heading}{header}\n{}", rows.join("\n"))
    };
    storm.report.cases.iter().map(case).collect::<Vec<_>>().join("\n\n")
}

/// The buckets that the picture of one case shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    from: usize,
    until: usize,
    per_bar: usize,
}

impl Window {
    pub(super) fn of(storm: Storm<'_>, case: &CaseReport, bars: usize) -> Self {
        let (from, until) = storm.picture(case);
        Self { from, until, per_bar: (until - from).div_ceil(bars) }
    }

    /// When the first bar begins.
    pub(super) fn start(&self) -> Span {
        BUCKET.saturating_mul(self.from as u64)
    }

    /// What one bar covers.
    pub(super) fn bar(&self) -> Span {
        BUCKET.saturating_mul(self.per_bar as u64)
    }

    /// Arrivals of one row; all rows of one case share one scale and one axis.
    ///
    /// Where all begin alike, with everybody's first attempt, the first bar is cut off at the height
    /// of the fullest later one, because the later ones are what the rows differ in.
    fn picture(&self, case: &CaseReport, row: &Row) -> String {
        let cut = usize::from(self.from == 0 && begins_alike(case));
        let bars = case.rows.iter().flat_map(|row| self.bars(row).into_iter().skip(cut));
        let full = bars.fold(0.0, f64::max);
        sparkline(&self.bars(row), full)
    }

    fn bars(&self, row: &Row) -> Vec<f64> {
        let arrivals = &row.series.offered;
        let until = self.until.min(arrivals.len());
        merged(arrivals.get(self.from..until).unwrap_or(&[]), self.per_bar)
    }
}

/// Whether the first bucket is the same for all.
fn begins_alike(case: &CaseReport) -> bool {
    let firsts = |row: &Row| row.series.offered.first().map(|count| count.to_bits());
    let mut firsts = case.rows.iter().map(firsts);
    let first = firsts.next();
    firsts.all(|other| Some(other) == first)
}

/// A table with a line under its header and no other lines.
pub(crate) fn plain(header: &[String]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(header.to_vec());
    for column in table.column_iter_mut() {
        column.set_padding((0, 1)); // and one for the border that is not drawn
    }
    table
}

/// Sets the columns of numbers flush right.
pub(crate) fn align(table: &mut Table, numbers: std::ops::Range<usize>) {
    for index in numbers {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The table's text without blanks at the ends of lines.
pub(crate) fn text(table: &Table) -> String {
    table.trim_fmt()
}

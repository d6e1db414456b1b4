//! A report as a table: seed and options first, then one block a case, then how to read it.

use std::ops::Range;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use stagger_sim::{CaseReport, EntryReport};

use super::measures::{self, Measure};
use super::storm::{ArrivalsWindow, Storm};

/// Columns of the picture: as many as the figures beside it leave, within these bounds.
const BARS: (usize, usize) = (8, 20);
/// Blanks that the table puts around a cell.
const AROUND: usize = 2;
/// Lines of a table above its rows: the names of the columns, and a rule.
const HEADER: usize = 2;

/// The page for people, in lines of at most `width` columns: what does not fit in one table is in the
/// next one.
pub(crate) fn table(storm: &Storm<'_>, width: usize) -> String {
    let measures = measures::measures(*storm);
    let names = measures.iter().map(|measure| measure.name.to_owned());
    let header: Vec<String> = std::iter::once("entry".to_owned()).chain(names).collect();
    let rows: Vec<Vec<String>> =
        storm.rows().map(|(case, row)| cells(&measures, case, row)).collect();
    let widths = widths(&header, &rows);
    let (parts, bars) = parts(&widths, width);
    let pictures: Vec<String> = storm
        .rows()
        .map(|(case, row)| ArrivalsWindow::of(*storm, case, bars).picture(case, row))
        .collect();
    let header: Vec<String> = header.into_iter().chain(["arrivals".to_owned()]).collect();
    let rows: Vec<Vec<String>> =
        rows.into_iter().zip(pictures).map(|(row, it)| [row, vec![it]].concat()).collect();
    let tables: Vec<String> = parts.into_iter().map(|part| laid(&header, &rows, part)).collect();
    format!(
        "{}\n\n{}\n\n{}\n",
        measures::heading(*storm, width),
        blocks(*storm, &tables),
        measures::reading(*storm, &measures, bars, width),
    )
}

fn cells(measures: &[&Measure], case: &CaseReport, row: &EntryReport) -> Vec<String> {
    let figures = measures.iter().map(|measure| measures::cell(measure, case, row));
    std::iter::once(row.name.clone()).chain(figures).collect()
}

/// The columns that each cell of the names and figures needs.
fn widths(header: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(header.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0) + AROUND
    };
    (0..header.len()).map(width).collect()
}

/// The columns of each table behind the names, of which every table has a copy; the picture is the last
/// one. Also the bars that the last table leaves for it.
fn parts(widths: &[usize], width: usize) -> (Vec<Range<usize>>, usize) {
    let names = widths.first().copied().unwrap_or(0) + 1;
    let mut parts = Vec::new();
    let (mut from, mut used) = (1, names);
    for (column, wide) in widths.iter().copied().chain([BARS.0]).enumerate().skip(1) {
        if used + wide > width && column > from {
            parts.push(from..column);
            (from, used) = (column, names);
        }
        used += wide;
    }
    parts.push(from..widths.len() + 1);
    let left = width.saturating_sub(used - BARS.0);
    (parts, left.clamp(BARS.0, BARS.1))
}

/// A table of the names and of some columns, all figures flush right.
fn laid(header: &[String], rows: &[Vec<String>], columns: Range<usize>) -> String {
    let kept = |cells: &[String]| [&cells[..1], &cells[columns.clone()]].concat();
    let figures = columns.end.min(header.len() - 1).saturating_sub(columns.start);
    let mut table = plain(&kept(header));
    for row in rows {
        table.add_row(kept(row));
    }
    align(&mut table, 1..figures + 1);
    text(&table)
}

/// The rows of each case under its own heading; all blocks have the same columns.
fn blocks(storm: Storm<'_>, tables: &[String]) -> String {
    let tables: Vec<Vec<&str>> = tables.iter().map(|table| table.lines().collect()).collect();
    let mut from = HEADER;
    let mut case = |case: &CaseReport| {
        let rows = from..from + case.rows.len();
        from = rows.end;
        let part = |lines: &Vec<&str>| [&lines[..HEADER], &lines[rows.clone()]].concat().join("\n");
        let parts: Vec<String> = tables.iter().map(part).collect();
        let heading = match storm.report.cases.len() {
            1 => String::new(),
            _ => format!("{}\n", case.label),
        };
        format!("{heading}{}", parts.join("\n\n"))
    };
    let cases: Vec<String> = storm.report.cases.iter().map(&mut case).collect();
    cases.join("\n\n")
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
pub(crate) fn align(table: &mut Table, numbers: Range<usize>) {
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

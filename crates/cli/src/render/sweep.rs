//! A sweep: heat maps for people, rows for programs.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value};
use stagger_sim::{CaseReport, Report, Row};

use super::csv::quoted;
use super::figure::rounded;
use super::json::{digest, page, time_to_recover};
use super::notes::runs;

/// What was swept.
#[derive(Clone, Debug)]
pub(crate) struct Swept {
    /// One or two keys with their values: across, then down.
    pub(crate) axes: Vec<(String, Vec<String>)>,
    /// One cell for every case of the report.
    pub(crate) cells: Vec<Cell>,
}

/// Where a case of the report belongs.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) column: usize,
    pub(crate) row: usize,
    /// What the scenario calls the case.
    pub(crate) case: String,
}

/// Columns of one cell.
const WIDE: usize = 7;

/// Two maps for every entry: who recovered, and how many attempts a call took.
pub(crate) fn sweep_table(swept: &Swept, report: &Report) -> String {
    let keys: Vec<&str> = swept.axes.iter().map(|(key, _)| &**key).collect();
    let mut page = format!(
        "storm {}: {}\nseed {}, {}, swept over {}\n",
        report.name,
        report.about,
        report.seed,
        runs(report.runs),
        keys.join(" and "),
    );
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (cell, case) in swept.cells.iter().zip(&report.cases) {
        for row in &case.rows {
            if !seen.contains(&(&cell.case, &row.name)) {
                seen.push((&cell.case, &row.name));
            }
        }
    }
    for (case, name) in seen {
        let title = if case.is_empty() { name.to_owned() } else { format!("{name}, {case}") };
        let of = |column: usize, row: usize| {
            let mut cells = swept.cells.iter().zip(&report.cases);
            let found = cells
                .find(|(cell, _)| (cell.column, cell.row) == (column, row) && cell.case == case);
            found.and_then(|(_, case)| case.rows.iter().find(|row| row.name == name))
        };
        page += &map(swept, &format!("{title}: healed"), &of, healed);
        page += &map(swept, &format!("{title}: attempts a call"), &of, amplification);
    }
    page + "\n·  healed in every run   ▒  in some, with their share   █  in none: stuck\n"
}

fn map<'r>(
    swept: &Swept,
    title: &str,
    of: &impl Fn(usize, usize) -> Option<&'r Row>,
    cell: fn(&Row) -> String,
) -> String {
    let nothing = (String::new(), vec![String::new()]);
    let across = swept.axes.first().unwrap_or(&nothing);
    let down = swept.axes.get(1).unwrap_or(&nothing);
    let labels =
        down.1.iter().chain([&down.0]).map(|label| label.chars().count()).max().unwrap_or(0);
    let mut page = format!("\n{title}\n{:labels$}", down.0);
    // Writing to a String cannot fail.
    for value in &across.1 {
        let _ = write!(page, " {value:>WIDE$}");
    }
    let _ = writeln!(page, "  {}", across.0);
    for (row, below) in down.1.iter().enumerate() {
        let mut line = format!("{below:>labels$}");
        for column in 0..across.1.len() {
            let shown =
                of(column, row).filter(|row| row.runs > 0).map_or_else(|| "-".to_owned(), cell);
            let _ = write!(line, " {shown:>WIDE$}");
        }
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page
}

fn healed(row: &Row) -> String {
    match row.recovery.healed {
        0 => "█".to_owned(),
        healed if healed < row.runs => format!("▒ {}", 100 * healed / row.runs),
        _ => "·".to_owned(),
    }
}

fn amplification(row: &Row) -> String {
    format!("{:.2}", row.amplification)
}

#[derive(Debug, Serialize)]
struct Page<'a> {
    scenario: &'a str,
    seed: u64,
    runs: u32,
    sweep: Vec<Map<String, Value>>,
    rows: Vec<Line<'a>>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    at: Map<String, Value>,
    case: &'a str,
    law: &'a str,
    runs: u64,
    healed: u64,
    stuck: bool,
    time_to_recover_s: Option<f64>,
    amplification: Option<f64>,
    success: Option<f64>,
    wasted: Option<f64>,
    digest: String,
}

/// One object with a row for each entry of each cell.
pub(crate) fn sweep_json(swept: &Swept, report: &Report) -> String {
    let axis = |(key, values): &(String, Vec<String>)| {
        [("key".to_owned(), key.clone().into()), ("values".to_owned(), values.clone().into())]
            .into_iter()
            .collect()
    };
    let lines = swept
        .cells
        .iter()
        .zip(&report.cases)
        .flat_map(|(cell, case)| case.rows.iter().map(move |row| line(swept, cell, row)));
    page(&Page {
        scenario: &report.name,
        seed: report.seed,
        runs: report.runs,
        sweep: swept.axes.iter().map(axis).collect(),
        rows: lines.collect(),
    })
}

fn line<'a>(swept: &Swept, cell: &'a Cell, row: &'a Row) -> Line<'a> {
    let figure = |value: f64| (row.runs > 0).then(|| rounded(value));
    Line {
        at: settings(swept, cell).map(|(key, value)| (key.to_owned(), value.into())).collect(),
        case: &cell.case,
        law: &row.name,
        runs: row.runs,
        healed: row.recovery.healed,
        stuck: row.runs > 0 && row.recovery.healed == 0,
        time_to_recover_s: time_to_recover(row),
        amplification: figure(row.amplification),
        success: figure(row.success),
        wasted: figure(row.wasted),
        digest: digest(row),
    }
}

/// One line for each entry of each cell.
pub(crate) fn sweep_csv(swept: &Swept, report: &Report) -> String {
    let keys: String = swept.axes.iter().map(|(key, _)| format!("{},", quoted(key))).collect();
    let mut page = format!(
        "scenario,seed,{keys}case,law,runs,healed,time_to_recover_s,amplification,success,wasted,digest\n"
    );
    for (cell, case) in swept.cells.iter().zip(&report.cases) {
        csv_lines(&mut page, swept, report, cell, case);
    }
    page
}

fn csv_lines(page: &mut String, swept: &Swept, report: &Report, cell: &Cell, case: &CaseReport) {
    let values: String =
        settings(swept, cell).map(|(_, value)| format!("{},", quoted(value))).collect();
    for row in &case.rows {
        let recover = time_to_recover(row).map_or_else(String::new, |seconds| seconds.to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "{},{},{values}{},{},{},{},{recover},{},{},{},{}",
            quoted(&report.name),
            report.seed,
            quoted(&cell.case),
            quoted(&row.name),
            row.runs,
            row.recovery.healed,
            rounded(row.amplification),
            rounded(row.success),
            rounded(row.wasted),
            digest(row),
        );
    }
}

/// The settings of a cell.
fn settings<'s>(swept: &'s Swept, cell: &Cell) -> impl Iterator<Item = (&'s str, &'s str)> {
    let places = [cell.column, cell.row];
    swept
        .axes
        .iter()
        .zip(places)
        .filter_map(|((key, values), place)| Some((&**key, &**values.get(place)?)))
}

//! A sweep: heat maps for people, rows for programs.

use serde::Serialize;
use serde_json::Value;
use stagger_sim::{EntryReport, RecoveryVerdict, StormReport};
use stagger_text::{hanging, rounded};

use super::measures::runs;
use super::records::{csv_lines, digest, page, time_to_recover, verdict};

/// The axes and the cells of a sweep.
#[derive(Clone, Debug)]
pub(crate) struct Swept {
    /// One or two keys with their values: across, then down.
    pub(crate) axes: Vec<(String, Vec<String>)>,
    /// One cell for every case of the report.
    pub(crate) cells: Vec<SweepCell>,
}

/// The place of a case of the report.
#[derive(Clone, Debug)]
pub(crate) struct SweepCell {
    pub(crate) column: usize,
    pub(crate) row: usize,
    /// The scenario's name of the case.
    pub(crate) case: String,
    /// The common part of the cells of one map, where the scenario has several cases for a cell.
    pub(crate) group: String,
}

/// The rows of one entry in all cells.
#[derive(Debug)]
pub(crate) struct SweepMap<'r> {
    pub(crate) group: &'r str,
    pub(crate) name: &'r str,
    /// SweepLine by line, the first value of the second axis first.
    pub(crate) rows: Vec<Option<&'r EntryReport>>,
}

impl Swept {
    /// The number of values of each axis; one for an axis that there is not.
    pub(crate) fn size(&self) -> (usize, usize) {
        let length = |nth: usize| self.axes.get(nth).map_or(1, |(_, values)| values.len());
        (length(0), length(1))
    }

    /// One map for every entry, in the order of the report.
    pub(crate) fn maps<'r>(&'r self, report: &'r StormReport) -> Vec<SweepMap<'r>> {
        let (columns, lines) = self.size();
        let mut maps: Vec<SweepMap<'r>> = Vec::new();
        for (cell, case) in self.cells.iter().zip(&report.cases) {
            for row in &case.rows {
                let known = |map: &SweepMap<'_>| map.group == cell.group && map.name == row.name;
                let map = maps.iter().position(known).unwrap_or_else(|| {
                    let rows = vec![None; columns * lines];
                    maps.push(SweepMap { group: &cell.group, name: &row.name, rows });
                    maps.len() - 1
                });
                if let Some(place) = maps[map].rows.get_mut(cell.row * columns + cell.column) {
                    *place = Some(row).filter(|row| row.runs > 0);
                }
            }
        }
        maps
    }
}

/// Columns of one cell.
const WIDE: usize = 7;

/// Two maps for every entry: the runs that recovered, and how many attempts a call took.
pub(crate) fn sweep_table(swept: &Swept, report: &StormReport, width: usize) -> String {
    let keys: Vec<&str> = swept.axes.iter().map(|(key, _)| &**key).collect();
    let title = format!("storm {}: {}", report.name, report.about);
    let mut page = format!(
        "{}\nseed {}, {}, swept over {}\n",
        hanging(&title, width, 2),
        report.seed,
        runs(report.runs),
        keys.join(" and "),
    );
    for map in swept.maps(report) {
        let title = match map.group {
            "" => map.name.to_owned(),
            group => format!("{}, {group}", map.name),
        };
        page += &drawn(swept, &format!("{title}: recovered"), &map, healed, width);
        page += &drawn(swept, &format!("{title}: attempts a call"), &map, amplification, width);
    }
    page + LEGEND
}

const LEGEND: &str = "
·  recovered in every run   ▒  in some, with their share
█  in none                  ?  not within the watch
";

/// One map, in parts below each other where its lines are too long for one.
fn drawn(
    swept: &Swept,
    title: &str,
    map: &SweepMap<'_>,
    cell: fn(&EntryReport) -> String,
    width: usize,
) -> String {
    let nothing = (String::new(), vec![String::new()]);
    let across = swept.axes.first().unwrap_or(&nothing);
    let down = swept.axes.get(1).unwrap_or(&nothing);
    let length = |label: &String| label.chars().count();
    let labels = down.1.iter().chain([&down.0]).map(length).max().unwrap_or(0);
    let wide = across.1.iter().map(length).max().unwrap_or(0).max(WIDE);
    let beside = labels + length(&across.0) + 2;
    let at_once = (width.saturating_sub(beside) / (wide + 1)).max(1);
    let mut page = format!("\n{title}\n");
    for (part, values) in across.1.chunks(at_once).enumerate() {
        if part > 0 {
            page.push('\n');
        }
        page += &format!("{:labels$}", down.0);
        page.extend(values.iter().map(|value| format!(" {value:>wide$}")));
        page += &format!("  {}\n", across.0);
        let from = part * at_once;
        for (below, rows) in down.1.iter().zip(map.rows.chunks(across.1.len().max(1))) {
            let mut line = format!("{below:>labels$}");
            for row in rows.iter().skip(from).take(values.len()) {
                let shown = row.map_or_else(|| "-".to_owned(), cell);
                line += &format!(" {shown:>wide$}");
            }
            page += line.trim_end();
            page.push('\n');
        }
    }
    page
}

fn healed(row: &EntryReport) -> String {
    match row.verdict() {
        RecoveryVerdict::Never | RecoveryVerdict::Relapsed => "█".to_owned(),
        RecoveryVerdict::NotWithinWatch => "?".to_owned(),
        RecoveryVerdict::TroubleLasts => "-".to_owned(),
        RecoveryVerdict::Partly => format!("▒ {}", 100 * row.recovery.healed / row.runs.max(1)),
        RecoveryVerdict::Recovered => "·".to_owned(),
    }
}

fn amplification(row: &EntryReport) -> String {
    format!("{:.2}", row.amplification)
}

type Object = serde_json::Map<String, Value>;

#[derive(Debug, Serialize)]
struct SweepPage<'a> {
    scenario: &'a str,
    seed: u64,
    runs: u32,
    sweep: Vec<Object>,
    rows: Vec<SweepLine<'a>>,
}

#[derive(Debug, Serialize)]
struct SweepLine<'a> {
    at: Object,
    case: &'a str,
    law: &'a str,
    runs: u64,
    healed: u64,
    recovery: Option<&'static str>,
    stuck: bool,
    time_to_recover_s: Option<f64>,
    amplification: Option<f64>,
    success: Option<f64>,
    wasted: Option<f64>,
    digest: String,
}

/// One object with a row for each entry of each cell.
pub(crate) fn sweep_json(swept: &Swept, report: &StormReport) -> String {
    let axis = |(key, values): &(String, Vec<String>)| {
        [("key".to_owned(), key.clone().into()), ("values".to_owned(), values.clone().into())]
            .into_iter()
            .collect()
    };
    page(&SweepPage {
        scenario: &report.name,
        seed: report.seed,
        runs: report.runs,
        sweep: swept.axes.iter().map(axis).collect(),
        rows: lines(swept, report).collect(),
    })
}

fn lines<'a>(swept: &'a Swept, report: &'a StormReport) -> impl Iterator<Item = SweepLine<'a>> {
    let cells = swept.cells.iter().zip(&report.cases);
    cells.flat_map(move |(cell, case)| case.rows.iter().map(move |row| line(swept, cell, row)))
}

fn line<'a>(swept: &Swept, cell: &'a SweepCell, row: &'a EntryReport) -> SweepLine<'a> {
    let figure = |value: f64| (row.runs > 0).then(|| rounded(value));
    SweepLine {
        at: settings(swept, cell).map(|(key, value)| (key.to_owned(), value.into())).collect(),
        case: &cell.case,
        law: &row.name,
        runs: row.runs,
        healed: row.recovery.healed,
        recovery: verdict(row),
        stuck: row.runs > 0
            && matches!(row.verdict(), RecoveryVerdict::Never | RecoveryVerdict::Relapsed),
        time_to_recover_s: time_to_recover(row),
        amplification: figure(row.amplification),
        success: figure(row.success),
        wasted: figure(row.wasted),
        digest: digest(row),
    }
}

/// One line for each entry of each cell.
pub(crate) fn sweep_csv(swept: &Swept, report: &StormReport) -> String {
    let keys: Vec<[&str; 2]> = swept.axes.iter().map(|(key, _)| ["at", &**key]).collect();
    let keys = keys.iter().map(|path| (path[1], &path[..]));
    let names = ["case", "law", "runs", "healed", "recovery", "time_to_recover_s"];
    let figures = ["amplification", "success", "wasted", "digest"];
    let names: Vec<[&str; 1]> = names.into_iter().chain(figures).map(|name| [name]).collect();
    let columns: Vec<_> = keys.chain(names.iter().map(|path| (path[0], &path[..]))).collect();
    csv_lines(Some(report), &columns, lines(swept, report))
}

/// The settings of a cell.
fn settings<'s>(swept: &'s Swept, cell: &SweepCell) -> impl Iterator<Item = (&'s str, &'s str)> {
    let places = [cell.column, cell.row];
    swept
        .axes
        .iter()
        .zip(places)
        .filter_map(|((key, values), place)| Some((&**key, &**values.get(place)?)))
}

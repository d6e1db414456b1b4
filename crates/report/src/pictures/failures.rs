//! Pictures 4 and 5: success above load over how often attempts fail, and recovery over two varied values.

use stagger_sim::{EntryReport, StormReport};
use stagger_text::percent;

use super::recovery::{key, names};
use super::window::{Varied, caption, settings};
use crate::chart::{
    Along, Axis, Chart, ChartKind, HeatCell, LegendKey, Panel, Reference, Series, Shape, Swatch,
};
use crate::grid::{GridPanel, Healed, HeatGrid};
use crate::numbers::number;
use crate::style::{Ink, Style, Styles};

/// Success and, below it, attempts a call, with the line of a tenth more load.
#[must_use]
pub fn failures(report: &StormReport) -> Option<Chart> {
    let varied = Varied::of(report).filter(Varied::is_failures)?;
    let styles = Styles::from(report);
    let lines = |value: fn(&EntryReport) -> f64| -> Vec<Series> {
        let names = names(report).into_iter();
        names.map(|name| series(report, name, styles.get(name), value)).collect()
    };
    let rows = report.cases.iter().flat_map(|case| &case.rows);
    let most = rows.map(|row| row.amplification).fold(1.2, f64::max);
    let success = lines(|row| row.success * 100.0);
    let load = lines(|row| row.amplification);
    let line = Reference { name: "1.1".into(), at: 1.1, along: Along::X, style: Style::LIMIT };
    let x = varied.axis(report, None);
    Some(Chart {
        kind: ChartKind::Lines,
        title: "What retries buy, and what they cost".into(),
        caption: caption(report, None, "Success and load as each attempt fails more often"),
        alt: failures_alt(report),
        reading: FAILURES_READING,
        keys: success.iter().map(key).collect(),
        panels: vec![
            Panel {
                series: success,
                ..Panel::new(x.clone(), Axis::linear("success", "%", 0.0, 100.0))
            },
            Panel {
                series: load,
                references: vec![line],
                ..Panel::new(x, Axis::linear("attempts a call", "", 0.9, most * 1.02))
            },
        ],
    })
}

const FAILURES_READING: &str = "\
The upper plane is what callers get, the lower one what the backend pays for it. While few attempts fail, retries are \
cheap and mend nearly everything. When most fail, they mend little and multiply the load. A budget keeps to the line of 1.1: a \
tenth more load, whatever happens.";

fn series(
    report: &StormReport,
    name: &str,
    style: Style,
    value: fn(&EntryReport) -> f64,
) -> Series {
    let points = report.cases.iter().filter_map(|case| {
        let row = case.rows.iter().find(|row| row.name == name)?;
        Some((case.value, value(row)))
    });
    Series { name: name.into(), style, shape: Shape::Dotted, points: points.collect() }
}

fn failures_alt(report: &StormReport) -> String {
    let cases = report.cases.iter().map(|case| {
        let rows = case.rows.iter().map(|row| {
            let (success, load) = (percent(row.success), number(row.amplification));
            format!("{} {success} with {load} attempts a call", row.name)
        });
        format!("{}: {}", case.label, rows.collect::<Vec<_>>().join(", "))
    });
    format!("Two planes of lines. {}.", cases.collect::<Vec<_>>().join("; "))
}

/// One panel an entry, one cell a pair of values.
#[must_use]
pub fn heat(grid: &HeatGrid) -> Option<Chart> {
    let played = |panel: &GridPanel| panel.cells.iter().any(Option::is_some);
    if grid.xs.is_empty() || !grid.panels.iter().any(played) {
        return None;
    }
    let styles = Styles::of(grid.panels.iter().map(|panel| panel.name.as_str()));
    let panels = grid.panels.iter().take(MOST_PANELS).map(|entry| Panel {
        cells: cells(grid, entry),
        note: note(entry),
        ..Panel::new(axis(&grid.x, &grid.xs), axis(&grid.y, &grid.ys))
            .of(&entry.title(), styles.get(&entry.name))
    });
    let left_out = match grid.panels.len().saturating_sub(MOST_PANELS) {
        0 => String::new(),
        more => format!(" {more} more panels are left out; --format csv has their figures."),
    };
    let (x, y) = (Varied::named(&grid.x).name, Varied::named(&grid.y).name);
    let settings = settings(&grid.parameters, grid.seed, grid.runs);
    Some(Chart {
        kind: ChartKind::Cells,
        title: match y.as_str() {
            "" => format!("Recovered or not, over {x}"),
            y => format!("Recovered or not, over {x} and {y}"),
        },
        caption: format!(
            "The share of runs that recovered for good: one that relapsed has not, and a cell without a \
             verdict is empty.{left_out} {settings}"
        ),
        alt: heat_alt(grid),
        reading: HEAT_READING,
        keys: keys(),
        panels: panels.collect(),
    })
}

/// Panels of one picture: more are no picture, and a panel may have 1600 cells.
const MOST_PANELS: usize = 24;

const HEAT_READING: &str = "\
Each cell is a pair of values. Blue: every run recovered. Dark red with a cross: none did. Between them the share of runs \
that did. Empty: the calls ended before a verdict was possible, or the trouble never ends. The more blue, the more trouble \
an entry rides out.";

fn keys() -> Vec<LegendKey> {
    let key = |name: &str, percent| LegendKey {
        name: name.into(),
        style: Style::solid(Ink::Text),
        swatch: Swatch::Cell(percent),
    };
    let some = [key("recovered in few runs", 20), key("in half", 50), key("in most", 80)];
    [key("recovered in none", 0)]
        .into_iter()
        .chain(some)
        .chain([key("recovered in all", 100)])
        .collect()
}

fn axis(title: &str, values: &[String]) -> Axis {
    let Varied { name, unit } = Varied::named(title);
    Axis { unit, ..Axis::named(&name, values.to_vec()) }
}

fn cells(grid: &HeatGrid, panel: &GridPanel) -> Vec<HeatCell> {
    let columns = grid.xs.len();
    let known = panel.cells.iter().take(columns * grid.ys.len()).enumerate();
    known
        .map(|(index, cell)| HeatCell {
            column: index % columns,
            row: index / columns,
            healed: cell.as_ref().map(Healed::share),
        })
        .collect()
}

fn note(panel: &GridPanel) -> String {
    let (healed, played) = panel.healed();
    format!("{healed} of {played}")
}

fn heat_alt(grid: &HeatGrid) -> String {
    let panels = grid.panels.iter().take(MOST_PANELS).map(|panel| {
        let (healed, played) = panel.healed();
        format!("{}: {healed} of {played} cells recover in every run", panel.title())
    });
    format!("Heat maps. {}.", panels.collect::<Vec<_>>().join("; "))
}

//! Picture 5: two varied values, and whether the backend recovered.

use super::caption::settings;
use super::varied::Varied;
use crate::chart::{Axis, Chart, ChartKind, HeatCell, LegendKey, Panel, Swatch};
use crate::grid::{GridPanel, Healed, HeatGrid};
use crate::style::{Ink, Style, Styles};

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
        alt: alt(grid),
        reading: READING,
        keys: keys(),
        panels: panels.collect(),
    })
}

/// Panels of one picture: more are no picture, and a panel may have 1600 cells.
const MOST_PANELS: usize = 24;

const READING: &str = "\
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

fn alt(grid: &HeatGrid) -> String {
    let panels = grid.panels.iter().take(MOST_PANELS).map(|panel| {
        let (healed, played) = panel.healed();
        format!("{}: {healed} of {played} cells recover in every run", panel.title())
    });
    format!("Heat maps. {}.", panels.collect::<Vec<_>>().join("; "))
}

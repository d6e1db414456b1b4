//! What a sweep came to, as a grid for the heat map.

use stagger_report::{Grid, GridPanel, Healed};
use stagger_sim::{CaseReport, Report};

use crate::render::Swept;

/// The first case of each cell, for every entry.
pub(super) fn grid(swept: &Swept, report: &Report) -> Grid {
    let axis = |nth: usize| swept.axes.get(nth).cloned();
    let (x, xs) = axis(0).unwrap_or_default();
    let (y, ys) = axis(1).unwrap_or_else(|| (String::new(), vec![String::new()]));
    let (columns, rows) = (xs.len(), ys.len());
    let names = report.cases.first().map_or(&[][..], |case| &case.rows);
    let panels = names.iter().map(|row| {
        let mut cells = vec![None; columns * rows];
        for (place, case) in swept.cells.iter().zip(&report.cases) {
            let cell = cells.get_mut(place.row * columns + place.column);
            if let Some(cell @ None) = cell {
                *cell = healed(case, &row.name);
            }
        }
        GridPanel { name: row.name.clone(), cells }
    });
    Grid {
        panels: panels.collect(),
        x,
        xs,
        y,
        ys,
        parameters: report.parameters.clone(),
        seed: report.seed,
        runs: report.runs,
    }
}

fn healed(case: &CaseReport, name: &str) -> Option<Healed> {
    let row = case.rows.iter().find(|row| row.name == name)?;
    (row.runs > 0).then_some(Healed { healed: row.recovery.healed, runs: row.runs })
}

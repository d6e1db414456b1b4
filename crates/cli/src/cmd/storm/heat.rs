//! The result of a sweep, as a grid for the heat map.

use stagger_report::{GridPanel, Healed, HeatGrid};
use stagger_sim::{EntryReport, RecoveryVerdict, StormReport};

use crate::render::Swept;

/// The cells of every entry.
pub(super) fn grid(swept: &Swept, report: &StormReport) -> HeatGrid {
    let axis = |nth: usize| swept.axes.get(nth).cloned();
    let (x, xs) = axis(0).unwrap_or_default();
    let (y, ys) = axis(1).unwrap_or_else(|| (String::new(), vec![String::new()]));
    let panels = swept.maps(report).into_iter().map(|map| GridPanel {
        name: map.name.to_owned(),
        case: map.group.to_owned(),
        cells: map.rows.into_iter().map(|row| row.and_then(healed)).collect(),
    });
    HeatGrid {
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

/// The cell of a row; empty where there is no verdict: its calls ended too soon, or the trouble lasts.
const fn healed(row: &EntryReport) -> Option<Healed> {
    match row.verdict() {
        RecoveryVerdict::NotWithinWatch | RecoveryVerdict::TroubleLasts => None,
        _ => Some(Healed { healed: row.recovery.healed, runs: row.runs }),
    }
}

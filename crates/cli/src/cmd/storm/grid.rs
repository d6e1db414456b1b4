//! `--sweep`: one scenario under a grid of settings.

use stagger_core::Span;
use stagger_sim::{Scenario, ScenarioCase};

use super::axis::SweepAxis;
use super::case_groups::{CaseGroup, CaseGroups};
use super::scenario_source::ScenarioSource;
use crate::command_error::CommandError;
use crate::render::{SweepCell, Swept};

/// The axes of a sweep, and all its cells as one scenario, so that they are played side by side.
#[derive(Debug)]
pub(super) struct SweepGrid {
    pub(super) scenario: Scenario,
    pub(super) swept: Swept,
}

/// Cells beyond this are a night's work.
const MAX_CELLS: usize = 1_600;
/// Rows of all cells: each keeps up to 0.6 MB of instants and counts, so these are some 4 GB.
const MAX_ROWS: usize = 6_400;

impl SweepGrid {
    /// The grid of one or two axes. With one, the cases that the scenario has anyway are the other.
    ///
    /// # Errors
    /// More axes or cells than that; a setting that there is not, or a value that is refused.
    pub(super) fn of(source: &ScenarioSource, sweeps: &[String]) -> Result<Self, CommandError> {
        let axes: Vec<SweepAxis> =
            sweeps.iter().map(|text| SweepAxis::parse(text)).collect::<Result<_, _>>()?;
        let (across, down) = match axes.as_slice() {
            [across] => (across, None),
            [across, down] if across.key != down.key => (across, Some(down)),
            _ => {
                return Err(CommandError::bad_value(
                    "--sweep may be given twice at most, with two keys",
                ));
            }
        };
        if across.values.len() * down.map_or(1, |down| down.values.len()) > MAX_CELLS {
            return Err(CommandError::bad_value(&format!("--sweep: at most {MAX_CELLS} cells")));
        }
        let mut played = Vec::new();
        for below in down.map_or(vec![None], |down| down.values.iter().map(Some).collect()) {
            for value in &across.values {
                let down = down.zip(below).map(|(axis, value)| (&*axis.key, &**value));
                let settings: Vec<_> = [(&*across.key, &**value)].into_iter().chain(down).collect();
                played.push(source.scenario(&settings)?);
            }
        }
        let rows = played.iter().flat_map(|scenario| &scenario.cases);
        if rows.map(|case| case.entries.len()).sum::<usize>() > MAX_ROWS {
            return Err(CommandError::bad_value(&format!(
                "--sweep: at most {MAX_ROWS} rows in all cells: take fewer steps, or fewer laws by --law"
            )));
        }
        Ok(Self::joined(axes, played))
    }

    /// All cells as one scenario.
    fn joined(axes: Vec<SweepAxis>, played: Vec<Scenario>) -> Self {
        let CaseGroups { own, shared } = CaseGroups::of(&played, axes.len() == 1);
        let columns = axes.first().map_or(1, |axis| axis.values.len());
        let mut frame =
            Scenario { cases: Vec::new(), ..played.first().cloned().unwrap_or_default() };
        frame.parameters.retain(|parameter| shared.contains(parameter));
        let mut cells = Vec::new();
        for (place, scenario) in played.into_iter().enumerate() {
            for (nth, case) in scenario.cases.into_iter().enumerate() {
                let (column, row) = (place % columns, place / columns);
                let row = if matches!(own, CaseGroup::Axis(..)) { nth } else { row };
                let cell = SweepCell {
                    column,
                    row,
                    case: case.label.clone(),
                    group: own.group(nth, &case),
                };
                let label = label(&axes, &own, &cell);
                frame.cases.push(ScenarioCase { label, ..case });
                cells.push(cell);
            }
        }
        place(&mut frame, &axes, &own);
        let own = if let CaseGroup::Axis(name, values) = own { Some((name, values)) } else { None };
        let axes = axes.into_iter().map(|axis| (axis.key, axis.values)).chain(own).collect();
        Self { scenario: frame, swept: Swept { axes, cells } }
    }
}

/// Names the settings of a cell, and which case of the scenario it is.
fn label(axes: &[SweepAxis], own: &CaseGroup, cell: &SweepCell) -> String {
    let settings = axes.iter().zip([cell.column, cell.row]);
    let settings = settings.filter_map(|(axis, place)| {
        axis.values.get(place).map(|value| format!("{} {value}", axis.key))
    });
    let nth = match own {
        CaseGroup::Axis(name, values) => {
            let name = name.split(" [").next().unwrap_or(name);
            values.get(cell.row).map(|value| format!("{name} {value}"))
        }
        _ => Some(cell.group.clone()).filter(|group| !group.is_empty()),
    };
    settings.chain(nth).collect::<Vec<_>>().join(", ")
}

/// The places of the cases on an axis, if there is one: the scenario's own place where what is swept
/// is what it varies.
fn place(frame: &mut Scenario, axes: &[SweepAxis], own: &CaseGroup) {
    let ([axis], CaseGroup::One) = (axes, own) else {
        frame.varied = None;
        return;
    };
    let distinct =
        frame.cases.windows(2).all(|pair| pair[0].value.total_cmp(&pair[1].value).is_ne());
    if frame.varied.is_some() && distinct && frame.cases.len() > 1 {
        return;
    }
    let is_span = |value: &String| value.parse::<Span>().is_ok();
    let unit = if axis.values.iter().all(is_span) { " [s]" } else { "" };
    frame.varied = Some(format!("{}{unit}", axis.key));
    for (nth, (case, value)) in frame.cases.iter_mut().zip(&axis.values).enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "at most forty values")]
        let number = || value.parse().unwrap_or(nth as f64);
        case.value = value.parse::<Span>().map_or_else(|_| number(), |span| span.as_secs_f64());
    }
}

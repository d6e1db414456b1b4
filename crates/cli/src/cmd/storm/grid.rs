//! `--sweep`: one scenario under a grid of settings.

use stagger_sim::{Case, Scenario};

use super::axis::Axis;
use super::source::Source;
use crate::refusal::Refusal;
use crate::render::{Cell, Swept};

/// The axes of a sweep, and all its cells as one scenario, so that they are played side by side.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) scenario: Scenario,
    pub(super) swept: Swept,
}

/// Cells beyond this are a night's work.
const MAX_CELLS: usize = 1_600;

impl Grid {
    /// The grid of one or two axes.
    ///
    /// # Errors
    /// More axes or cells than that; a setting that there is not, or a value that is refused.
    pub(super) fn of(source: &Source, sweeps: &[String]) -> Result<Self, Refusal> {
        let axes: Vec<Axis> =
            sweeps.iter().map(|text| Axis::parse(text)).collect::<Result<_, _>>()?;
        let single = Axis { key: String::new(), values: vec![String::new()] };
        let (across, down) = match axes.as_slice() {
            [across] => (across, &single),
            [across, down] if across.key != down.key => (across, down),
            _ => {
                return Err(Refusal::bad_value(
                    "--sweep may be given twice at most, with two keys",
                ));
            }
        };
        if across.values.len() * down.values.len() > MAX_CELLS {
            return Err(Refusal::bad_value(&format!("--sweep: at most {MAX_CELLS} cells")));
        }
        let mut all = source.scenario(&[])?;
        all.cases = Vec::new();
        let mut cells = Vec::new();
        for (row, below) in down.values.iter().enumerate() {
            for (column, value) in across.values.iter().enumerate() {
                let settings = [(&*across.key, &**value), (&*down.key, &**below)];
                let settings = &settings[..axes.len()];
                for case in source.scenario(settings)?.cases {
                    cells.push(Cell { column, row, case: case.label.clone() });
                    all.cases.push(Case { label: label(settings, &case.label), ..case });
                }
            }
        }
        let axis = |axis: &Axis| (axis.key.clone(), axis.values.clone());
        let axes = axes.iter().map(axis).collect();
        Ok(Self { scenario: all, swept: Swept { axes, cells } })
    }
}

fn label(settings: &[(&str, &str)], case: &str) -> String {
    let settings = settings.iter().map(|(key, value)| format!("{key} {value}"));
    let case = (!case.is_empty()).then(|| case.to_owned());
    settings.chain(case).collect::<Vec<_>>().join(", ")
}

//! `--sweep`: one scenario under a grid of settings.

use stagger_core::Span;
use stagger_sim::{Scenario, ScenarioCase};

use super::files::{CaseGroup, CaseGroups};
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

/// A key with its values, as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SweepAxis {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

/// Values unless the text says how many.
const STEPS: u64 = 8;
/// As many columns as a screen has room for.
const MAX_STEPS: u64 = 40;

impl SweepAxis {
    /// Reads one.
    ///
    /// # Errors
    /// A text of another form.
    pub(super) fn parse(text: &str) -> Result<Self, CommandError> {
        let read = || {
            let (key, range) = text.split_once('=')?;
            let (from, rest) = range.split_once("..")?;
            let (to, steps) = match rest.split_once('/') {
                Some((to, steps)) => (to, steps.parse().ok()?),
                None => (rest, STEPS),
            };
            let steps = Some(steps).filter(|steps| (2..=MAX_STEPS).contains(steps))?;
            let values = spans(from, to, steps).or_else(|| numbers(from, to, steps))?;
            let key = (!key.is_empty()).then(|| key.to_owned())?;
            Some(Self { key, values })
        };
        read().ok_or_else(|| {
            CommandError::bad_value(&format!(
                "invalid value '{text}' for '--sweep': must be KEY=A..B/STEPS with two spans or two \
                 numbers and from 2 to {MAX_STEPS} steps, such as base=50ms..1s/8"
            ))
        })
    }
}

fn spans(from: &str, to: &str, steps: u64) -> Option<Vec<String>> {
    let (from, to): (Span, Span) = (from.parse().ok()?, to.parse().ok()?);
    let (from, to) = (from.as_nanos(), to.as_nanos());
    let unit = unit(from.abs_diff(to) / (steps - 1));
    let at = |step| {
        let nanos = between(from, to, step, steps)?;
        let is_end = step == 0 || step + 1 == steps;
        let nanos = if is_end { nanos } else { nanos - nanos % unit };
        Some(Span::from_nanos(nanos).to_string())
    };
    (0..steps).map(at).collect()
}

/// A hundredth of the power of ten in one step: what is finer says nothing, and fills the screen.
fn unit(step: u64) -> u64 {
    10_u64.pow(step.checked_ilog10().unwrap_or(0).saturating_sub(2))
}

/// Whole numbers stay whole; others have six decimals at most.
fn numbers(from: &str, to: &str, steps: u64) -> Option<Vec<String>> {
    if let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse::<u64>()) {
        let mut values: Vec<String> = (0..steps)
            .map(|step| Some(between(from, to, step, steps)?.to_string()))
            .collect::<Option<_>>()?;
        values.dedup();
        return Some(values);
    }
    let (from, to): (f64, f64) = (from.parse().ok()?, to.parse().ok()?);
    if !from.is_finite() || !to.is_finite() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 40 steps")]
    let at = |step: u64| from + (to - from) * step as f64 / (steps - 1) as f64;
    let shown = |value: f64| {
        let digits = format!("{value:.6}");
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    Some((0..steps).map(|step| shown(at(step))).collect())
}

/// The value of one step, the ends included; rounded down.
fn between(from: u64, to: u64, step: u64, steps: u64) -> Option<u64> {
    let (from, to, step) = (i128::from(from), i128::from(to), i128::from(step));
    u64::try_from(from + (to - from) * step / i128::from(steps - 1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_played() {
        let values = |text| SweepAxis::parse(text).unwrap().values;
        assert_eq!(values("outage=0.25s..1s/4"), ["250ms", "500ms", "750ms", "1s"]);
        assert_eq!(values("load=100..900/3"), ["100", "500", "900"]);
        assert_eq!(values("callers=1..2/5"), ["1", "2"]);
        assert_eq!(values("share=1..0.5/2"), ["1", "0.5"]);
        assert_eq!(values("base=1s..50ms").len(), 8);
        assert_eq!(values("base=50ms..1s/4"), ["50ms", "366ms", "683ms", "1s"]);
        assert_eq!(values("base=1ns..3ns/3"), ["1ns", "2ns", "3ns"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in
            ["", "base", "base=1s", "base=1s..2", "=1..2", "a=1..2/1", "a=1..2/41", "a=x..y"]
        {
            assert!(SweepAxis::parse(text).is_err(), "{text}");
        }
    }
}

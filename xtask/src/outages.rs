//! Outages that ship, against figures of their reports and of another program: a part of `cargo xtask golden`.

use std::error::Error;
use std::process::Stdio;

use serde_json::Value;
use xtask_workbench::cargo;

use crate::vectors::GoldenCell;

/// The cells: outage, row, measure, figure, tolerance, and the source of the figure.
const CELLS: &str = include_str!("../../crates/cli/golden/outages.tsv");

/// Plays the outages that are asked for, or all when none is, and compares every cell of theirs.
///
/// # Errors
/// An outage that cannot be played, or a row or measure that it has not.
pub(crate) fn compare(asked: &[String]) -> Result<Vec<GoldenCell>, Box<dyn Error>> {
    let mut cells = Vec::new();
    let mut played: Option<(&str, Value)> = None;
    for line in CELLS.lines().filter(|line| !line.starts_with('#')) {
        let [outage, entry, measure, theirs, tolerance, _source] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            return Err(format!("not a cell: {line:?}").into());
        };
        if !asked.is_empty() && !asked.iter().any(|name| name == outage) {
            continue;
        }
        if played.as_ref().is_none_or(|(name, _)| *name != outage) {
            played = Some((outage, play(outage)?));
        }
        let page = played.as_ref().map(|(_, page)| page).ok_or("nothing was played")?;
        let ours =
            figure(page, entry, measure).ok_or_else(|| format!("no {measure} of {entry}"))?;
        let (theirs, tolerance): (f64, f64) = (theirs.parse()?, tolerance.parse()?);
        let within = (ours - theirs).abs() <= tolerance;
        let [table, entry, measure] = [outage, entry, measure].map(str::to_owned);
        cells.push(GoldenCell {
            table,
            case: String::new(),
            entry,
            measure,
            theirs,
            ours,
            tolerance,
            within,
        });
    }
    Ok(cells)
}

fn play(outage: &str) -> Result<Value, Box<dyn Error>> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "stagger-cli", "--"]);
    command.args(["storm", outage, "--quiet", "--format", "json"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(format!("storm {outage} ended with {}", output.status).into()),
    }
}

/// A figure of one row; a row that did not recover has no end.
fn figure(page: &Value, entry: &str, measure: &str) -> Option<f64> {
    let row = page["rows"].as_array()?.iter().find(|row| row["law"] == entry)?;
    match measure {
        "peak" => row["peak_rps"]["mean"].as_f64(),
        "seconds" => row["time_to_recover_s"].as_f64().or(Some(f64::INFINITY)),
        other => row[other].as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_never_recovers_is_far_from_any_time() {
        let page = serde_json::json!({ "rows": [
            { "law": "a", "peak_rps": { "mean": 5.0 }, "time_to_recover_s": null, "success": 0.5 },
        ] });
        let figure = |measure| figure(&page, "a", measure);
        assert_eq!(figure("peak"), Some(5.0));
        assert_eq!(figure("success"), Some(0.5));
        assert_eq!(figure("seconds"), Some(f64::INFINITY));
        assert_eq!(figure("nothing"), None);
    }
}

//! The lab beside the reference tables, cell by cell.

use std::error::Error;
use std::fmt;
use std::process::Stdio;

use serde::Serialize;

use xtask_workbench::{Format, cargo};

/// Compares every cell of every table, or of those asked for; false when one is out.
pub(crate) fn run(format: Format, percent: u32, tables: &[String]) -> Result<bool, Box<dyn Error>> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "stagger-sim",
        "--example",
        "golden",
    ]);
    command.arg("--").arg(percent.to_string()).args(tables);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the comparison ended with {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let cells: Vec<GoldenCell> = text.lines().map(GoldenCell::read).collect::<Result<_, _>>()?;
    if cells.is_empty() {
        return Err("no such table".into());
    }
    format.show(&cells, &GoldenPage(&cells))?;
    Ok(cells.iter().all(|cell| cell.within))
}

/// One figure of a table with the lab's beside it.
#[derive(Debug, PartialEq, Serialize)]
struct GoldenCell {
    table: String,
    case: String,
    entry: String,
    measure: String,
    theirs: f64,
    ours: f64,
    tolerance: f64,
    within: bool,
}

impl GoldenCell {
    fn read(line: &str) -> Result<Self, Box<dyn Error>> {
        let [table, case, entry, measure, theirs, ours, tolerance, within] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            return Err(format!("not a cell: {line:?}").into());
        };
        let [table, case, entry, measure] = [table, case, entry, measure].map(str::to_owned);
        let (theirs, ours, tolerance) = (theirs.parse()?, ours.parse()?, tolerance.parse()?);
        Ok(Self { table, case, entry, measure, theirs, ours, tolerance, within: within == "true" })
    }
}

struct GoldenPage<'a>(&'a [GoldenCell]);

impl fmt::Display for GoldenPage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:5} {:38} {:32} {:15} {:>10} {:>12} {:>10}",
            "table", "case", "entry", "measure", "theirs", "ours", "tolerance"
        )?;
        for cell in self.0 {
            let GoldenCell { table, case, entry, measure, theirs, ours, tolerance, within } = cell;
            let mark = if *within { "" } else { "  OUT" };
            writeln!(
                f,
                "{table:5} {case:38} {entry:32} {measure:15} {theirs:>10} {ours:>12.3} \
                 {tolerance:>10.3}{mark}"
            )?;
        }
        let out = self.0.iter().filter(|cell| !cell.within).count();
        writeln!(f, "{} cells, {out} out", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_cell_and_half_a_line_is_none() {
        let line = "L3\tup at 1s\tfull\tpeak\t1550\t1546.5\t30.1\ttrue";
        let cell = GoldenCell::read(line).expect("eight fields");
        assert!(cell.within && cell.theirs == 1550.0 && cell.entry == "full");
        assert!(GoldenCell::read("L3\tup at 1s").is_err());
    }

    #[test]
    fn what_is_out_is_marked_and_counted() {
        let line = "L3\tup at 1s\tfull\tpeak\t1550\t2546.5\t30.1\tfalse";
        let page = GoldenPage(&[GoldenCell::read(line).expect("eight fields")]).to_string();
        assert!(page.contains("OUT") && page.ends_with("1 cells, 1 out\n"), "{page}");
    }
}

//! Other projects' figures: their test vectors, and the reference tables of the lab, cell by cell.

use std::error::Error;
use std::fmt;
use std::process::Stdio;

use serde::Serialize;
use stagger_testkit::vectors::{Deliberate, Suite, run_all};
use xtask_workbench::{Format, cargo, program};

/// Runs every vector file; false when a row failed or a file held none.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let mut suites = run_all();
    suites.extend(over_sockets()?);
    format.show(&suites.iter().map(SuiteRow::new).collect::<Vec<_>>(), &SuiteTable(&suites))?;
    Ok(!suites.is_empty() && suites.iter().all(is_good))
}

/// The suites that need a client and a server; built apart, so that the chores need neither.
fn over_sockets() -> Result<Vec<Suite>, Box<dyn Error>> {
    let output = program("gcs-retry")?.stderr(Stdio::inherit()).output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Every row of a suite passed, or was answered otherwise on purpose.
fn is_good(suite: &Suite) -> bool {
    suite.total > 0 && suite.passed + suite.deliberate.len() == suite.total
}

/// A suite as a program sees it: the same four keys on every day.
#[derive(Serialize)]
struct SuiteRow<'a> {
    suite: &'a str,
    passed: usize,
    total: usize,
    deliberate: &'a [Deliberate],
}

impl<'a> SuiteRow<'a> {
    fn new(suite: &'a Suite) -> Self {
        let Suite { suite: name, passed, total, deliberate, .. } = suite;
        Self { suite: name, passed: *passed, total: *total, deliberate }
    }
}

struct SuiteTable<'a>(&'a [Suite]);

impl fmt::Display for SuiteTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:48} {:>7} {:>7} {:>11}", "suite", "passed", "total", "on purpose")?;
        for suite in self.0 {
            line(f, &suite.suite, suite.passed, suite.total, suite.deliberate.len())?;
            suite.failed.iter().try_for_each(|row| writeln!(f, "    FAILED {row}"))?;
        }
        let sum = |part: fn(&Suite) -> usize| self.0.iter().map(part).sum::<usize>();
        line(f, "all", sum(|s| s.passed), sum(|s| s.total), sum(|s| s.deliberate.len()))
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    passed: usize,
    total: usize,
    deliberate: usize,
) -> fmt::Result {
    writeln!(f, "{name:48} {passed:>7} {total:>7} {deliberate:>11}")
}

/// Compares every cell of every table and of the outages, or of those asked for; false when one is out.
pub(crate) fn golden(
    format: Format,
    percent: u32,
    tables: &[String],
    outages: impl Fn(&[String]) -> Result<Vec<GoldenCell>, Box<dyn Error>>,
) -> Result<bool, Box<dyn Error>> {
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
    // Outages have hyphens in their names and tables have none: outages alone need no table.
    if !tables.is_empty() && tables.iter().all(|name| name.contains('-')) {
        return shown(format, &outages(tables)?);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the comparison ended with {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut cells: Vec<GoldenCell> =
        text.lines().map(GoldenCell::read).collect::<Result<_, _>>()?;
    cells.extend(outages(tables)?);
    shown(format, &cells)
}

/// Shows the cells; false when one is out.
fn shown(format: Format, cells: &[GoldenCell]) -> Result<bool, Box<dyn Error>> {
    if cells.is_empty() {
        return Err("no such table".into());
    }
    format.show(&cells, &GoldenPage(cells))?;
    Ok(cells.iter().all(|cell| cell.within))
}

/// One figure of a table with the lab's beside it.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct GoldenCell {
    pub(crate) table: String,
    pub(crate) case: String,
    pub(crate) entry: String,
    pub(crate) measure: String,
    pub(crate) theirs: f64,
    pub(crate) ours: f64,
    pub(crate) tolerance: f64,
    pub(crate) within: bool,
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

    fn suite() -> Suite {
        let mut suite = Suite::new("a.json");
        suite.check("one", &1, &1);
        suite.differ("two", (&2, &2, &3), "theirs forgets a rule");
        suite
    }

    #[test]
    fn a_failed_row_is_not_hidden_by_a_deliberate_one() {
        let mut suite = suite();
        assert!(is_good(&suite));
        suite.check("three", &1, &2);
        assert!(!is_good(&suite));
        assert!(SuiteTable(&[suite]).to_string().contains("FAILED three: got 1, want 2"));
    }

    #[test]
    fn an_empty_suite_proves_nothing() {
        assert!(!is_good(&Suite::new("empty.json")));
    }

    #[test]
    fn programs_get_exactly_four_keys() {
        let json = serde_json::to_string(&SuiteRow::new(&suite())).expect("plain data");
        let want = r#"{"suite":"a.json","passed":1,"total":2,"deliberate":[{"row":"two","reason":"theirs forgets a rule"}]}"#;
        assert_eq!(json, want);
    }

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

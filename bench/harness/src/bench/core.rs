//! The cost of the engine, measured on this machine: `cargo xtask bench core`.
//!
//! The bench target of the crate measures; this reads what it wrote. Times are criterion's medians,
//! because a neighbour on a shared machine moves a mean and not a median.

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde::{Deserialize, Serialize};

use xtask_workbench::{Format, Workspace, cargo, note};

/// The mark of the bench target's lines for this chore.
const MARK: &str = "stagger-bench ";

/// Measures and shows; false when the target measured nothing.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let timings = Workspace::load()?.target_directory.join("criterion");
    note("measuring; a few seconds a row");
    let out = cargo()
        .args(["bench", "--quiet", "--package", "stagger-core", "--bench", "core"])
        .env("CRITERION_HOME", &timings)
        .stderr(Stdio::inherit())
        .output()?;
    if !out.status.success() {
        return Err("the bench target failed".into());
    }
    let rows = rows(&String::from_utf8_lossy(&out.stdout), &timings)?;
    format.show(&rows, &EngineTable(&rows))?;
    Ok(!rows.is_empty())
}

/// The figures that the bench target counts by itself.
#[derive(Deserialize)]
struct Count {
    name: String,
    timed: bool,
    allocations: u64,
    bytes: u64,
}

/// One operation or one size.
#[derive(Debug, PartialEq, Serialize)]
struct EngineRow {
    name: String,
    /// Nanoseconds for one operation; 0 for a row that only states a size.
    ns: f64,
    /// The most that any one operation allocated, in calls to the allocator.
    allocations: u64,
    /// The same in bytes; for a row that states a size, that size.
    bytes: u64,
}

fn rows(stdout: &str, timings: &Path) -> Result<Vec<EngineRow>, Box<dyn Error>> {
    stdout
        .lines()
        .filter_map(|line| line.strip_prefix(MARK))
        .map(|json| row(json, timings))
        .collect()
}

fn row(json: &str, timings: &Path) -> Result<EngineRow, Box<dyn Error>> {
    let Count { name, timed, allocations, bytes } = serde_json::from_str(json)?;
    let ns = if timed { median(&timings.join(&name).join("new/estimates.json"))? } else { 0.0 };
    Ok(EngineRow { name, ns, allocations, bytes })
}

/// The median of criterion's estimates, in nanoseconds rounded to hundredths.
fn median(path: &Path) -> Result<f64, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct Estimates {
        median: Estimate,
    }
    #[derive(Deserialize)]
    struct Estimate {
        point_estimate: f64,
    }
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let estimates: Estimates = serde_json::from_str(&text)?;
    Ok((estimates.median.point_estimate * 100.0).round() / 100.0)
}

struct EngineTable<'a>(&'a [EngineRow]);

impl fmt::Display for EngineTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:44} {:>10} {:>12} {:>8}", "name", "ns", "allocations", "bytes")?;
        self.0.iter().try_for_each(|EngineRow { name, ns, allocations, bytes }| {
            writeln!(f, "{name:44} {ns:>10.2} {allocations:>12} {bytes:>8}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_criterion_itself_are_no_rows() {
        let stdout = "draw time: [1 ns 2 ns 3 ns]\n\
            stagger-bench {\"name\":\"state\",\"timed\":false,\"allocations\":0,\"bytes\":64}\n";
        let rows = rows(stdout, Path::new("nowhere")).expect("the fixture is valid");
        let want = EngineRow { name: "state".into(), ns: 0.0, allocations: 0, bytes: 64 };
        assert_eq!(rows, [want]);
    }

    #[test]
    fn a_row_without_its_timing_is_an_error_that_names_the_file() {
        let line = r#"stagger-bench {"name":"draw","timed":true,"allocations":0,"bytes":0}"#;
        let error = rows(line, Path::new("nowhere")).expect_err("there is no such file");
        assert!(error.to_string().starts_with("nowhere/draw/new/estimates.json"), "{error}");
    }
}

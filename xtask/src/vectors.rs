//! Other projects' test vectors, and how many of their rows the engine answers as written.

use std::error::Error;
use std::fmt;
use std::process::Stdio;

use serde::Serialize;
use stagger_testkit::vectors::{Deliberate, Suite, run_all};

use xtask_workbench::{Format, cargo};

/// Runs every vector file; false when a row failed or a file held none.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let mut suites = run_all();
    suites.extend(over_sockets()?);
    format.show(&suites.iter().map(SuiteRow::new).collect::<Vec<_>>(), &SuiteTable(&suites))?;
    Ok(!suites.is_empty() && suites.iter().all(is_good))
}

/// The suites that need a client and a server; built apart, so that the chores need neither.
fn over_sockets() -> Result<Vec<Suite>, Box<dyn Error>> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "stagger-contracts", "--bin", "gcs-retry"]);
    let output = command.stderr(Stdio::inherit()).output()?;
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
}

//! Runs the tests of all promises, and shows which hold.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;

use serde::Serialize;
use xtask_workbench::Format;

use super::promise::{Promise, promises};
use super::servers::TestServers;
use super::test_run::{self, TestResult};

/// Runs every test of the list; false when one did not pass.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let promises = promises()?;
    let servers = TestServers::start()?;
    let targets: BTreeSet<&str> = promises.iter().map(|it| it.test.target.as_str()).collect();
    let mut results = BTreeMap::new();
    for target in targets {
        let of_target = promises.iter().filter(|it| it.test.target == target);
        let paths: Vec<_> = of_target.map(|it| it.test.path.as_str()).collect();
        let found = test_run::run(target, &paths, servers.environment())?;
        results.extend(found.into_iter().map(|(path, result)| ((target, path), result)));
    }
    let result_of = |it: &Promise| {
        let key = (it.test.target.as_str(), it.test.path.clone());
        results.get(&key).copied().unwrap_or(TestResult::Missing)
    };
    let rows: Vec<Row<'_>> = promises.iter().map(|it| Row::new(it, result_of(it))).collect();
    format.show(&rows, &PromisePage(&rows))?;
    Ok(rows.iter().all(|row| row.passed))
}

/// A promise, and whether it holds.
#[derive(Debug, Serialize)]
struct Row<'p> {
    feature: &'p str,
    case: &'p str,
    passed: bool,
    /// Why it has not passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip)]
    test: String,
}

impl<'p> Row<'p> {
    fn new(promise: &'p Promise, result: TestResult) -> Self {
        let Promise { feature, case, test } = promise;
        let reason = match result {
            TestResult::Passed => None,
            TestResult::Skipped => Some("the test was skipped: what it needs is not here"),
            TestResult::Failed => Some("the test failed"),
            TestResult::Missing => Some("there is no such test"),
        };
        let test = format!("{}::{}", test.target, test.path);
        Self { feature, case, passed: result == TestResult::Passed, reason, test }
    }
}

struct PromisePage<'r>(&'r [Row<'r>]);

impl fmt::Display for PromisePage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = "";
        for row in self.0 {
            if row.feature != last {
                writeln!(f, "{}", row.feature)?;
                last = row.feature;
            }
            match row.reason {
                None => writeln!(f, "  ok   {}", row.case)?,
                Some(reason) => writeln!(f, "  OUT  {}: {reason} ({})", row.case, row.test)?,
            }
        }
        let passed = self.0.iter().filter(|row| row.passed).count();
        writeln!(f, "{passed} of {} cases", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::promise::TestName;
    use super::*;

    #[test]
    fn a_case_without_its_test_is_no_success() {
        let test = TestName { target: "send".into(), path: "a::b".into() };
        let promise = Promise { feature: "auth".into(), case: "it is sent".into(), test };
        let row = Row::new(&promise, TestResult::Missing);
        assert!(!row.passed);
        let page = PromisePage(&[row]).to_string();
        assert!(page.contains("there is no such test (send::a::b)"), "{page}");
    }
}

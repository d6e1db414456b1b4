//! One run of the tests of a target, and what became of each of them.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::Command;

use xtask_workbench::{cargo, note};

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestResult {
    Passed,
    /// It said that a program or a server is missing, so it has shown nothing.
    Skipped,
    Failed,
    /// No target of this name has such a test.
    Missing,
}

/// Runs the tests `paths` of the target `target`, which is the name of a file or a folder in `tests/`, or `lib`.
///
/// # Errors
///
/// Cargo could not be run, or the tests could not be built.
pub(super) fn run(
    target: &str,
    paths: &[&str],
    environment: &[(String, String)],
) -> Result<BTreeMap<String, TestResult>, Box<dyn Error>> {
    note(&format!("{target}: {} tests", paths.len()));
    build(target)?;
    let mut command = tests_of(target);
    command.args(["--no-fail-fast", "--", "--exact", "--show-output"]).args(paths);
    let output = command.envs(environment.iter().cloned()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let results = read(&text);
    if results.values().any(|it| *it == TestResult::Failed) {
        note(&text);
    }
    Ok(results)
}

fn build(target: &str) -> Result<(), Box<dyn Error>> {
    let status = tests_of(target).args(["--quiet", "--no-run"]).status()?;
    if status.success() { Ok(()) } else { Err(format!("{target}: not built").into()) }
}

/// With every feature of the workspace, as the tests are built anyway.
fn tests_of(target: &str) -> Command {
    let mut command = cargo();
    command.args(["test", "--workspace", "--all-features"]);
    match target {
        "lib" => command.arg("--lib"),
        target => command.args(["--test", target]),
    };
    command
}

/// The results in the output of `--show-output`: lines `test NAME ... ok`, then what each test has printed.
fn read(output: &str) -> BTreeMap<String, TestResult> {
    let mut results = BTreeMap::new();
    let mut printing = None;
    for line in output.lines() {
        if let Some((name, result)) = result_of(line) {
            let worst = results.entry(name.to_owned()).or_insert(result);
            *worst = result.max(*worst);
        } else if let Some(name) = heading(line) {
            printing = Some(name.to_owned());
        } else if line.starts_with("skipped: ")
            && let Some(result) = printing.as_ref().and_then(|name| results.get_mut(name))
        {
            *result = TestResult::Skipped.max(*result);
        }
    }
    results
}

fn result_of(line: &str) -> Option<(&str, TestResult)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let result = match result.split_whitespace().next()?.trim_end_matches(',') {
        "ok" => TestResult::Passed,
        "ignored" => TestResult::Skipped,
        _ => TestResult::Failed,
    };
    Some((name, result))
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 4 tests
test a::works ... ok
test a::breaks ... FAILED
test a::waits ... ignored, it takes an hour
test a::looks ... ok

successes:

---- a::looks stdout ----
skipped: there is no browser

failures:

---- a::breaks stdout ----
skipped: nothing
";

    #[test]
    fn a_test_that_left_itself_out_has_not_passed() {
        let results = read(OUTPUT);
        assert_eq!(results.get("a::works"), Some(&TestResult::Passed));
        assert_eq!(results.get("a::looks"), Some(&TestResult::Skipped));
        assert_eq!(results.get("a::waits"), Some(&TestResult::Skipped));
        assert_eq!(results.get("a::breaks"), Some(&TestResult::Failed));
    }
}

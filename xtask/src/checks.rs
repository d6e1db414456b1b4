//! Checks that run other packages: the promises of every integration, each feature alone, and the harness.

use std::error::Error;
use std::ffi::OsString;
use std::process::Stdio;
use std::{fs, process};

use xtask_workbench::{Format, Package, Workspace, cargo, emit, note, program};

/// The page that holds the grid.
const PAGE: &str = "docs/contracts.md";

/// The text above the grid.
const INTRO: &str = "\
# Contracts

What each way to make calls promises, checked over real sockets against a server with faults. A cell says how many
checks passed of how many, or why the promise does not apply. The numbers of sections are those of the specification.
From \"request on a connection that is closed\" on, nothing of a client is set but its policy.
`cargo xtask contracts` runs the checks, `cargo xtask contracts --write` writes this page, and a test compares it.

";

/// Runs every promise for every integration; false when a cell failed or is empty.
pub(crate) fn contracts(format: Format, write: bool) -> Result<bool, Box<dyn Error>> {
    let mut command = program("stagger-contracts")?;
    if matches!(format, Format::Json) {
        command.arg("--json");
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    let grid = String::from_utf8(output.stdout)?;
    emit(&grid);
    if write && matches!(format, Format::Table) && output.status.success() {
        fs::write(PAGE, INTRO.to_owned() + &grid)?;
    }
    Ok(output.status.success())
}

/// The crates that other people build with features of their own choice, and the binary, whose plain build is the default.
const SHIPPED: [&str; 4] = ["stagger-core", "stagger", "stagger-redis", "stagger-cli"];

/// Lints the shipped crates without features and with each one alone; stops at the first failure.
pub(crate) fn features() -> Result<bool, Box<dyn Error>> {
    let workspace = Workspace::load()?;
    for package in workspace.packages.iter().filter(|p| SHIPPED.contains(&p.name.as_str())) {
        for features in alone(package) {
            note(&format!("{} with [{features}]", package.name));
            if !lint(&package.name, features)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn lint(package: &str, features: &str) -> Result<bool, Box<dyn Error>> {
    let status = cargo()
        .args(["clippy", "--quiet", "--package", package, "--no-default-features"])
        .args(["--features", features, "--", "-D", "warnings"])
        .status()?;
    Ok(status.success())
}

/// No feature, then each one; `default` is only a name for others.
fn alone(package: &Package) -> Vec<&str> {
    let named = package.features.keys().map(String::as_str).filter(|name| *name != "default");
    std::iter::once("").chain(named).collect()
}

/// Makes the run `name` with the harness; false when it found something wrong.
pub(crate) fn harness(name: &str, arguments: &[OsString]) -> Result<bool, Box<dyn Error>> {
    let status = program("harness")?.arg(name).args(arguments).status()?;
    match status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        // The harness has said why.
        Some(2) => process::exit(2),
        _ => Err(format!("the harness ended with {status}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_tried_and_so_is_none() {
        let text = r#"{"name": "a", "dependencies": [],
                       "features": {"default": ["std"], "serde": [], "std": []}}"#;
        let package: Package = serde_json::from_str(text).expect("the fixture is valid");
        assert_eq!(alone(&package), ["", "serde", "std"]);
    }
}

//! The promises of every integration, checked over real sockets by the crate of the contracts.

use std::error::Error;
use std::fs;
use std::process::Stdio;

use xtask_workbench::{Format, cargo, emit};

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
pub(crate) fn run(format: Format, write: bool) -> Result<bool, Box<dyn Error>> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--package",
        "stagger-contracts",
        "--bin",
        "stagger-contracts",
    ]);
    if matches!(format, Format::Json) {
        command.args(["--", "--json"]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    let grid = String::from_utf8(output.stdout)?;
    emit(&grid);
    if write && matches!(format, Format::Table) && output.status.success() {
        fs::write(PAGE, INTRO.to_owned() + &grid)?;
    }
    Ok(output.status.success())
}

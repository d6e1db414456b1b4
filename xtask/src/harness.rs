//! The runs of the harness, which is built apart: the chores need no server, no client and no database.

use std::error::Error;
use std::ffi::OsString;
use std::process;

use xtask_workbench::cargo;

/// Makes the run `name` with the harness; false when it found something wrong.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<bool, Box<dyn Error>> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "stagger-harness", "--", name]).args(arguments);
    let status = command.status()?;
    match status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        // The harness has said why.
        Some(2) => process::exit(2),
        _ => Err(format!("the harness ended with {status}").into()),
    }
}

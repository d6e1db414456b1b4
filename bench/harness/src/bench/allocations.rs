//! The allocations of a clean call on every path of the library: `cargo xtask bench allocations`.

use std::error::Error;
use std::fmt;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use xtask_workbench::{Format, cargo, note};

/// Counts and shows; false when nothing was counted.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    note("building the library with every feature");
    let mut command = cargo();
    // Built as the tests are, because allocations do not depend on how well the code is optimized.
    command.args(["bench", "--quiet", "--profile", "dev", "--package", "stagger"]);
    command.args(["--all-features", "--bench", "allocations"]);
    let out = command.stderr(Stdio::inherit()).output()?;
    if !out.status.success() {
        return Err("the allocations could not be counted".into());
    }
    let rows = AllocationTable(serde_json::from_slice(&out.stdout)?);
    format.show(&rows.0, &rows)?;
    Ok(!rows.0.is_empty())
}

/// One path of a clean call, over the bare call.
#[derive(Deserialize, Serialize)]
struct AllocationRow {
    path: String,
    allocations: i64,
    bytes: i64,
}

struct AllocationTable(Vec<AllocationRow>);

impl fmt::Display for AllocationTable {
    /// As Markdown, so that a document can hold it unchanged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| path | allocations | bytes |\n| --- | ---: | ---: |")?;
        self.0.iter().try_for_each(|AllocationRow { path, allocations, bytes }| {
            writeln!(f, "| {path} | {allocations} | {bytes} |")
        })
    }
}

//! The library beside its peers: builds `bench/peers`, runs it, and shows what it measured.

use std::error::Error;
use std::fmt;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use xtask_workbench::{Format, Workspace, cargo, note};

/// Measures and shows; false when nothing was measured.
pub(crate) fn run(format: Format, quick: bool) -> Result<bool, Box<dyn Error>> {
    let mut command = program("peers")?;
    if quick {
        command.arg("--quick");
    }
    note("building the peers and measuring; a minute or two");
    let out = command.stderr(Stdio::inherit()).output()?;
    if !out.status.success() {
        return Err("the peers could not be measured".into());
    }
    let report: PeersReport = serde_json::from_slice(&out.stdout)?;
    let rows: Vec<&PeerRow> = report.rows.iter().map(|measured| &measured.row).collect();
    format.show(&rows, &report)?;
    Ok(!rows.is_empty())
}

/// Shows what peers do on an input, beside what we do on the same one.
pub(crate) fn facts() -> Result<bool, Box<dyn Error>> {
    Ok(program("facts")?.status()?.success())
}

/// A binary of the bench crate, which is a workspace of its own.
fn program(name: &str) -> Result<Command, Box<dyn Error>> {
    let manifest = Workspace::load()?.workspace_root.join("bench/peers/Cargo.toml");
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--locked", "--bin", name, "--manifest-path"]);
    command.arg(manifest).arg("--");
    Ok(command)
}

/// The output of the bench crate.
#[derive(Deserialize)]
struct PeersReport {
    rows: Vec<MeasuredGroup>,
    sizes: Vec<CallSize>,
}

#[derive(Deserialize)]
struct MeasuredGroup {
    #[serde(flatten)]
    row: PeerRow,
    ns_low: f64,
    ns_high: f64,
}

/// One operation of one package.
#[derive(Deserialize, Serialize)]
struct PeerRow {
    group: String,
    name: String,
    version: String,
    /// Median nanoseconds of processor time over the bare operation.
    ns_over_bare: f64,
    /// The same by ours; a cost below 0.1 ns counts as 0.1 ns.
    ratio_to_ours: f64,
    /// Mean calls to the allocator for one operation.
    allocations: f64,
}

/// The bytes that a wrapping future adds to the operation's own.
#[derive(Deserialize)]
struct CallSize {
    name: String,
    version: String,
    bytes_over: u64,
}

impl fmt::Display for PeersReport {
    /// As Markdown, so that a document can hold it unchanged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = "";
        for MeasuredGroup { row, ns_low, ns_high } in &self.rows {
            if row.group != group {
                group = &row.group;
                writeln!(
                    f,
                    "\n| {group} | version | ns over bare | spread | to ours | allocations |"
                )?;
                writeln!(f, "| --- | --- | ---: | ---: | ---: | ---: |")?;
            }
            let PeerRow { name, version, ns_over_bare, ratio_to_ours, allocations, .. } = row;
            write!(f, "| {name} | {version} | {ns_over_bare:.1} | {ns_low:.1} to {ns_high:.1} ")?;
            writeln!(f, "| {ratio_to_ours:.1} | {allocations} |")?;
        }
        writeln!(f, "\n| future | version | bytes over the operation's |\n| --- | --- | ---: |")?;
        self.sizes.iter().try_for_each(|CallSize { name, version, bytes_over }| {
            writeln!(f, "| {name} | {version} | {bytes_over} |")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_six_fields_to_programs_and_its_spread_to_people() {
        let printed = r#"{"rows":[{"group":"first try","name":"stagger","version":"0.1.0",
            "ns_over_bare":4.5,"ns_low":4.0,"ns_high":5.0,"ratio_to_ours":1.0,"allocations":0.0}],
            "sizes":[{"name":"stagger","version":"0.1.0","bytes_over":150}]}"#;
        let report: PeersReport = serde_json::from_str(printed).expect("the fixture is valid");
        let row = serde_json::to_value(&report.rows[0].row).expect("a row is plain data");
        assert_eq!(row.as_object().map(serde_json::Map::len), Some(6));
        let table = report.to_string();
        assert!(table.contains("| stagger | 0.1.0 | 4.5 | 4.0 to 5.0 | 1.0 | 0 |"), "{table}");
        assert!(table.contains("| stagger | 0.1.0 | 150 |"), "{table}");
    }
}

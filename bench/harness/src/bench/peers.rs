//! The library beside its peers: what calls cost, what peers do on an input, and the programs of the migration guide.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use xtask_workbench::{Format, Workspace, cargo, note};

use super::sim;

/// Measures and shows; false when nothing was measured, or when a peer is ahead and its row gives no reason.
pub(crate) fn run(
    format: Format,
    (quick, instructions): (bool, bool),
) -> Result<bool, Box<dyn Error>> {
    note("building the peers and measuring; a minute or two");
    let peers = build("peers")?;
    let mut command = Command::new(&peers);
    if quick {
        command.arg("--quick");
    }
    let mut report: PeersReport = output(&mut command)?;
    if instructions {
        note("counting instructions; some minutes");
        count_instructions(&peers, &mut report.rows)?;
    }
    let rows: Vec<&PeerRow> = report.rows.iter().map(|measured| &measured.row).collect();
    format.show(&rows, &report)?;
    // A quick run is too short for its ratios to say anything.
    let explained =
        quick || rows.iter().all(|row| row.ratio_to_ours >= 1.0 || row.reason.is_some());
    if !explained {
        note("a peer is ahead and its row gives no reason");
    }
    Ok(!rows.is_empty() && explained)
}

/// Shows what peers do on an input, beside what we do on the same one.
pub(crate) fn facts() -> Result<bool, Box<dyn Error>> {
    Ok(Command::new(build("facts")?).status()?.success())
}

/// Plays the programs of the migration guide; false when one of ours does less, or asks more of the server.
pub(crate) fn migrations(format: Format) -> Result<bool, Box<dyn Error>> {
    note("building the programs of the guide and playing them; half a minute");
    let table = MigrationTable(output(&mut Command::new(build("migrations")?))?);
    format.show(&table.0, &table)?;
    Ok(!table.0.is_empty() && table.0.iter().all(MigrationRow::is_kept))
}

/// A program of the bench crate, which is a workspace of its own.
fn build(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let manifest = Workspace::load()?.workspace_root.join("bench/peers/Cargo.toml");
    let mut command = cargo();
    command.args(["build", "--quiet", "--release", "--locked", "--message-format=json"]);
    command.args(["--bin", name, "--manifest-path"]).arg(manifest);
    sim::executable_of(&mut command)
}

/// The output of a program.
fn output<T: for<'de> Deserialize<'de>>(command: &mut Command) -> Result<T, Box<dyn Error>> {
    let out = command.stderr(Stdio::inherit()).output()?;
    if !out.status.success() {
        return Err(format!("{command:?} failed").into());
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}

/// Operations of the shorter and of the longer run, whose difference has no start in it. A start differs by a million
/// instructions from the next, because a clock of one peer is measured then.
const OPERATIONS: [u64; 2] = [1_000, 401_000];

/// Counts the instructions of each operation in user space by callgrind, less those of the bare loop. valgrind hides
/// the kernel's clock page, so the reading of a clock counts as a call of the kernel, which is not counted.
fn count_instructions(peers: &Path, rows: &mut [MeasuredGroup]) -> Result<(), Box<dyn Error>> {
    let mut bare = (String::new(), 0.0);
    for MeasuredGroup { row, .. } in rows.iter_mut().filter(|row| row.is_on_one_thread()) {
        if row.group != bare.0 {
            bare = (row.group.clone(), instructions(peers, &row.group, "bare")?);
        }
        let own = instructions(peers, &row.group, &row.name)? - bare.1;
        row.instructions = Some((own * 10.0).round() / 10.0);
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn instructions(peers: &Path, group: &str, name: &str) -> Result<f64, Box<dyn Error>> {
    let mut counts = [0; 2];
    for (count, operations) in counts.iter_mut().zip(OPERATIONS) {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(peers);
        let out = command.args(["--case", group, name, &operations.to_string()]).output()?;
        let said = String::from_utf8_lossy(&out.stderr);
        *count = collected(&said).ok_or_else(|| format!("{command:?} counted nothing: {said}"))?;
    }
    let [fewer, more] = counts;
    Ok(more.saturating_sub(fewer) as f64 / (OPERATIONS[1] - OPERATIONS[0]) as f64)
}

/// The count in callgrind's last words.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
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

impl MeasuredGroup {
    fn is_on_one_thread(&self) -> bool {
        !self.row.group.ends_with("threads") || self.row.group.ends_with(" 1 threads")
    }
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
    /// Instructions over the bare operation, where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<f64>,
    /// The use of the difference, where the peer costs less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
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
                    "\n| {group} | version | ns over bare | spread | to ours | allocations | instructions |"
                )?;
                writeln!(f, "| --- | --- | ---: | ---: | ---: | ---: | ---: |")?;
            }
            let PeerRow { name, version, ns_over_bare, ratio_to_ours, allocations, .. } = row;
            write!(f, "| {name} | {version} | {ns_over_bare:.1} | {ns_low:.1} to {ns_high:.1} ")?;
            let instructions =
                row.instructions.map_or(String::new(), |count| format!("{count:.0}"));
            writeln!(f, "| {ratio_to_ours:.2} | {allocations} | {instructions} |")?;
        }
        self.write_reasons(f)?;
        writeln!(f, "\n| future | version | bytes over the operation's |\n| --- | --- | ---: |")?;
        self.sizes.iter().try_for_each(|CallSize { name, version, bytes_over }| {
            writeln!(f, "| {name} | {version} | {bytes_over} |")
        })
    }
}

impl PeersReport {
    fn write_reasons(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for MeasuredGroup { row, .. } in &self.rows {
            let PeerRow { group, name, ratio_to_ours, .. } = row;
            if let Some(reason) = &row.reason {
                writeln!(f, "- {group}, {name} ({ratio_to_ours:.2}): {reason}")?;
            }
        }
        Ok(())
    }
}

/// One fault script through the program of a peer, and through ours.
#[derive(Deserialize, Serialize)]
struct MigrationRow {
    peer: String,
    version: String,
    script: String,
    before: PlayedScript,
    after: PlayedScript,
}

/// The result of a script.
#[derive(Deserialize, Serialize)]
struct PlayedScript {
    succeeded: u32,
    failed: u32,
    attempts: u32,
    seconds: f64,
}

impl MigrationRow {
    /// Whether no call succeeds less, and no more attempts reach the server. In an outage a budget may end a call
    /// before the outage ends, where a peer without one goes on.
    fn is_kept(&self) -> bool {
        let Self { before, after, .. } = self;
        let one_call = before.succeeded + before.failed == 1;
        after.attempts <= before.attempts && (!one_call || after.succeeded >= before.succeeded)
    }
}

struct MigrationTable(Vec<MigrationRow>);

impl fmt::Display for MigrationTable {
    /// As Markdown, so that a document can hold it unchanged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| program | faults | before: succeeded, attempts, seconds | after | |")?;
        writeln!(f, "| --- | --- | --- | --- | --- |")?;
        self.0.iter().try_for_each(|row| {
            let MigrationRow { peer, version, script, before, after } = row;
            let verdict = if row.is_kept() { "" } else { "worse" };
            writeln!(f, "| {peer} {version} | {script} | {before} | {after} | {verdict} |")
        })
    }
}

impl fmt::Display for PlayedScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { succeeded, failed, attempts, seconds } = self;
        write!(f, "{succeeded} of {}, {attempts}, {seconds}", succeeded + failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_its_reason_and_its_instructions_to_programs_only_where_it_has_them() {
        let printed = r#"{"rows":[{"group":"first try","name":"stagger","version":"0.1.0",
            "ns_over_bare":4.5,"ns_low":4.0,"ns_high":5.0,"ratio_to_ours":1.0,"allocations":0.0},
            {"group":"first try","name":"peer","version":"0.2.0","reason":"reads no clock",
            "ns_over_bare":2.2,"ns_low":2.0,"ns_high":2.5,"ratio_to_ours":0.5,"allocations":0.0}],
            "sizes":[{"name":"stagger","version":"0.1.0","bytes_over":150}]}"#;
        let report: PeersReport = serde_json::from_str(printed).expect("the fixture is valid");
        let fields = |row: &MeasuredGroup| {
            let row = serde_json::to_value(&row.row).expect("a row is plain data");
            row.as_object().map(serde_json::Map::len)
        };
        assert_eq!((fields(&report.rows[0]), fields(&report.rows[1])), (Some(6), Some(7)));
        let table = report.to_string();
        assert!(table.contains("| stagger | 0.1.0 | 4.5 | 4.0 to 5.0 | 1.00 | 0 |  |"), "{table}");
        assert!(table.contains("- first try, peer (0.50): reads no clock"), "{table}");
        assert!(table.contains("| stagger | 0.1.0 | 150 |"), "{table}");
    }

    #[test]
    fn callgrind_names_its_count_in_its_last_words() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 1234\n==7=="), Some(1_234));
        assert_eq!(collected("valgrind: no such file"), None);
    }

    #[test]
    fn a_migration_that_asks_more_of_the_server_is_worse() {
        let played = |succeeded, attempts| PlayedScript {
            succeeded,
            failed: 1 - succeeded,
            attempts,
            seconds: 1.0,
        };
        let row = |after| MigrationRow {
            peer: "peer".to_owned(),
            version: "1.0.0".to_owned(),
            script: "busy twice".to_owned(),
            before: played(1, 3),
            after,
        };
        assert!(row(played(1, 3)).is_kept());
        assert!(!row(played(1, 4)).is_kept() && !row(played(0, 3)).is_kept());
        let table = MigrationTable(vec![row(played(1, 4))]).to_string();
        assert!(table.contains("| 1 of 1, 3, 1 | 1 of 1, 4, 1 | worse |"), "{table}");
    }
}

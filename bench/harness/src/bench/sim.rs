//! The lab's world beside other simulators: builds them, runs them, and shows what they measured.
//!
//! Every engine of `bench/sim-peers` runs in a process of its own, so that each one's memory is its own.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use xtask_workbench::{Format, Workspace, cargo, note};

use crate::rig::ScratchFolder;

/// Measures and shows; false when nothing was measured.
pub(crate) fn run(format: Format, quick: bool) -> Result<bool, Box<dyn Error>> {
    let peers = Workspace::load()?.workspace_root.join("bench/sim-peers");
    note("building the simulators");
    let rust = build(&peers)?;
    let scratch = ScratchFolder::new("bench-sim")?;
    let python = simpy(scratch.path());
    let script = peers.join("simpy_peer.py");
    if python.is_none() {
        note("no Python, no pip or no SimPy 4: its row is left out");
    }
    let mut rows = Vec::new();
    for &(engine, clients) in if quick { QUICK } else { FULL } {
        let mut command = match (engine, &python) {
            ("simpy", None) => continue,
            ("simpy", Some(python)) => with(python, script.as_os_str()),
            _ => with(&rust, engine.as_ref()),
        };
        note(&format!("{engine}, {clients} clients"));
        rows.push(best(command.arg(clients.to_string()), if quick { 1 } else { ROUNDS })?);
    }
    check(&rows)?;
    let rows: Vec<SimulatorRow> = rows.iter().map(MeasuredModel::row).collect();
    format.show(&rows, &SimulatorTable(&rows))?;
    Ok(!rows.is_empty())
}

/// Engines and clients. The largest is ours alone: the others would take minutes or gigabytes.
const FULL: &[(&str, u32)] = &[
    ("stagger", 10_000),
    ("stagger", 1_000_000),
    ("stagger", 25_000_000),
    ("heap", 1_000_000),
    ("nexosim", 1_000_000),
    ("tokio", 1_000_000),
    ("simpy", 100_000),
];

const QUICK: &[(&str, u32)] = &[
    ("stagger", 10_000),
    ("stagger", 100_000),
    ("heap", 10_000),
    ("nexosim", 10_000),
    ("tokio", 10_000),
    ("simpy", 10_000),
];

/// Runs of each engine, of which the least disturbed one counts.
const ROUNDS: u32 = 3;

/// The output of one process.
#[derive(Clone, Debug, Deserialize)]
struct MeasuredModel {
    engine: String,
    clients: u32,
    events: u64,
    served: u64,
    seconds: f64,
    bytes: u64,
}

/// One engine at one size.
#[derive(Debug, PartialEq, Serialize)]
struct SimulatorRow {
    engine: String,
    clients: u32,
    /// Delays waited for by the second of wall time.
    events_per_s: f64,
    /// The most resident memory, less what the process had at first, by the client.
    bytes_per_client: f64,
}

impl MeasuredModel {
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    fn row(&self) -> SimulatorRow {
        SimulatorRow {
            engine: self.engine.clone(),
            clients: self.clients,
            events_per_s: (self.events as f64 / self.seconds).round(),
            bytes_per_client: (self.bytes as f64 / f64::from(self.clients)).round(),
        }
    }
}

fn build(peers: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut command = cargo();
    command.args(["build", "--quiet", "--release", "--locked", "--message-format=json"]);
    executable_of(command.arg("--manifest-path").arg(peers.join("Cargo.toml")))
}

/// Builds a program, and finds it.
pub(super) fn executable_of(build: &mut Command) -> Result<PathBuf, Box<dyn Error>> {
    let out = build.stderr(Stdio::inherit()).output()?;
    if !out.status.success() {
        return Err(format!("{build:?} failed").into());
    }
    let built = String::from_utf8_lossy(&out.stdout);
    built.lines().find_map(executable).ok_or_else(|| "cargo named no executable".into())
}

/// The executable that a line of cargo's messages names.
fn executable(line: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
    }
    serde_json::from_str::<Message>(line).ok()?.executable
}

/// A Python that has SimPy, in an environment of its own.
fn simpy(scratch: &Path) -> Option<PathBuf> {
    let runs = |command: &mut Command| {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    let folder = scratch.join("python");
    let python = folder.join("bin/python");
    let made = runs(Command::new("python3").args(["-m", "venv"]).arg(&folder));
    let install = ["-m", "pip", "install", "--quiet", "simpy==4.1.2"];
    (made && runs(Command::new(&python).args(install))).then_some(python)
}

fn with(program: &Path, argument: &std::ffi::OsStr) -> Command {
    let mut command = Command::new(program);
    command.arg(argument).stderr(Stdio::inherit());
    command
}

fn best(command: &mut Command, rounds: u32) -> Result<MeasuredModel, Box<dyn Error>> {
    let runs = (0..rounds).map(|_| once(command)).collect::<Result<Vec<_>, _>>()?;
    let fastest = runs.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    fastest.ok_or_else(|| "no rounds".into())
}

fn once(command: &mut Command) -> Result<MeasuredModel, Box<dyn Error>> {
    let out = command.output()?;
    if !out.status.success() {
        return Err(format!("{command:?} failed").into());
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}

/// Whether all who draw the same delays have played the same model.
fn check(rows: &[MeasuredModel]) -> Result<(), Box<dyn Error>> {
    let exact = rows.iter().filter(|row| !COARSE.contains(&row.engine.as_str()));
    let exact: Vec<_> = exact.collect();
    for row in &exact {
        let same = exact.iter().filter(|other| other.clients == row.clients);
        let mut other =
            same.filter(|other| (other.events, other.served) != (row.events, row.served));
        if let Some(other) = other.next() {
            return Err(format!("not the same model: {row:?} and {other:?}").into());
        }
    }
    Ok(())
}

/// Tokio's timers have a granularity of a millisecond, and SimPy draws with Python's generator.
const COARSE: [&str; 2] = ["tokio", "simpy"];

struct SimulatorTable<'a>(&'a [SimulatorRow]);

impl fmt::Display for SimulatorTable<'_> {
    /// As Markdown, so that a document can hold it unchanged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| engine | clients | M events/s | to ours | bytes per client |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        let is_ours = |row: &&SimulatorRow| row.engine == "stagger" && row.clients <= 1_000_000;
        let ours = self.0.iter().rfind(is_ours).map_or(f64::NAN, |row| row.events_per_s);
        self.0.iter().try_for_each(
            |SimulatorRow { engine, clients, events_per_s, bytes_per_client }| {
                let (millions, ratio) = (events_per_s / 1e6, events_per_s / ours);
                write!(f, "| {engine} | {clients} | {millions:.2} | {ratio:.3} ")?;
                writeln!(f, "| {bytes_per_client} |")
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(engine: &str, served: u64) -> MeasuredModel {
        let json = format!(
            r#"{{"engine":"{engine}","clients":1000,"events":2750,"served":{served},
            "seconds":0.5,"bytes":32100}}"#
        );
        serde_json::from_str(&json).expect("the fixture is valid")
    }

    #[test]
    fn a_row_is_events_by_the_second_and_bytes_by_the_client() {
        let row = measured("stagger", 854).row();
        let engine = "stagger".to_owned();
        let want =
            SimulatorRow { engine, clients: 1_000, events_per_s: 5_500.0, bytes_per_client: 32.0 };
        assert_eq!(row, want);
        let table = SimulatorTable(&[row]).to_string();
        assert!(table.contains("| stagger | 1000 | 0.01 | 1.000 | 32 |"), "{table}");
    }

    #[test]
    fn an_engine_that_served_others_has_played_another_model() {
        assert!(check(&[measured("stagger", 854), measured("heap", 854)]).is_ok());
        assert!(check(&[measured("stagger", 854), measured("tokio", 860)]).is_ok());
        assert!(check(&[measured("stagger", 854), measured("heap", 855)]).is_err());
    }

    #[test]
    fn cargo_names_the_executable_in_one_of_its_messages() {
        assert_eq!(executable(r#"{"reason":"compiler-artifact","executable":null}"#), None);
        let line = r#"{"reason":"compiler-artifact","executable":"/t/sim-peers"}"#;
        assert_eq!(executable(line), Some(PathBuf::from("/t/sim-peers")));
    }
}

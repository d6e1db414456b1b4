//! The processes of a fleet.

use std::env;
use std::error::Error;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::count::Count;

/// The longest time that a process may take to report its counts, or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// All processes; killed when dropped.
#[derive(Debug)]
pub(super) struct Processes(Vec<Process>);

#[derive(Debug)]
struct Process {
    child: Child,
    orders: ChildStdin,
    counts: Lines<BufReader<ChildStdout>>,
}

impl Processes {
    /// So many processes, each told `arguments`.
    pub(super) fn start(processes: u32, arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let program = env::current_exe()?;
        let start = |_| {
            let mut command = Command::new(&program);
            command.arg("member").args(arguments).kill_on_drop(true);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let orders = child.stdin.take().ok_or("no standard input")?;
            let counts = child.stdout.take().ok_or("no standard output")?;
            Ok(Process { child, orders, counts: BufReader::new(counts).lines() })
        };
        (0..processes).map(start).collect::<Result<_, Box<dyn Error>>>().map(Self)
    }

    /// The counts of all processes since the last call.
    pub(super) async fn count(&mut self) -> Result<Count, Box<dyn Error>> {
        for process in &mut self.0 {
            process.orders.write_all(b"count\n").await?;
        }
        let mut sum = Count::default();
        for process in &mut self.0 {
            let line = timeout(PATIENCE, process.counts.next_line()).await??;
            sum += serde_json::from_str(&line.ok_or("a process has ended")?)?;
        }
        Ok(sum)
    }

    /// Ends them, as a fleet that is shut down.
    pub(super) async fn end(self) -> Result<(), Box<dyn Error>> {
        let mut children = Vec::new();
        for process in self.0 {
            drop(process.orders);
            children.push(process.child);
        }
        for mut child in children {
            let status = timeout(PATIENCE, child.wait()).await??;
            if !status.success() {
                return Err(format!("a process ended with {status}").into());
            }
        }
        Ok(())
    }
}

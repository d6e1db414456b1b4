//! The dispatcher as its users run it: the released binary, in a process of its own.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use xtask_workbench::{Workspace, cargo, note};

use super::host::{cpu_ms, signal, tcp_ports};
use super::stores::Site;

/// The key that may do everything.
pub(crate) const ADMIN_KEY: &str = "sk_chores_of_the_workspace";
/// The longest time for a start, recovery included.
const START_LIMIT: Duration = Duration::from_secs(120);
/// The interval between checks of the log for the address.
const LOOK: Duration = Duration::from_millis(2);
/// Lines of a log that an error shows.
const TAIL: usize = 20;

/// Builds the binary as it is published, and returns its path.
pub(crate) fn build() -> Result<PathBuf, Box<dyn Error>> {
    note("building the binary");
    let status = cargo()
        .args([
            "build",
            "--quiet",
            "--profile",
            "dist",
            "--package",
            "stagger-cli",
            "--all-features",
        ])
        .status()?;
    if !status.success() {
        return Err("the binary could not be built".into());
    }
    Ok(Workspace::load()?.target_directory.join("dist/stagger"))
}

/// A running `stagger serve`; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it at `site`.
    pub(crate) fn spawn(binary: &Path, site: &Site) -> Result<Self, Box<dyn Error>> {
        Self::spawn_with(binary, site, &[])
    }

    /// The same with more flags.
    pub(crate) fn spawn_with(
        binary: &Path,
        site: &Site,
        flags: &[&str],
    ) -> Result<Self, Box<dyn Error>> {
        let log = site.log.clone();
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--allow-private"])
            .args(["--admin-key", ADMIN_KEY, "--store", &site.store, "--data"])
            .arg(&site.folder)
            .args(flags);
        if let Some(lease) = site.lease {
            command.args(["--lease", &format!("{}ms", lease.as_millis())]);
        }
        if let Some(redis) = &site.redis {
            command.args(["--redis", redis]);
        }
        // Its settings are those above, whatever the caller's shell says.
        let theirs = std::env::vars_os().map(|(name, _)| name);
        for name in theirs.filter(|name| name.to_string_lossy().starts_with("STAGGER_")) {
            command.env_remove(name);
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .map_err(|e| format!("{}: {e}", binary.display()))?;
        Ok(Self { child, log })
    }

    /// Waits until it listens, and says where.
    pub(crate) async fn address(&mut self) -> Result<SocketAddr, Box<dyn Error>> {
        let until = Instant::now() + START_LIMIT;
        loop {
            let log = fs::read_to_string(&self.log)?;
            if let Some(addr) = listening(&log) {
                return Ok(addr);
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the server ended with {status}:\n{}", tail(&log)).into());
            }
            if Instant::now() > until {
                return Err(format!("the server does not listen:\n{}", tail(&log)).into());
            }
            sleep(LOOK).await;
        }
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) -> Result<(), Box<dyn Error>> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, and waits until it has, for as long as `limit`.
    pub(crate) async fn end(&mut self, limit: Duration) -> Result<(), Box<dyn Error>> {
        signal(self.child.id(), "-TERM")?;
        let until = Instant::now() + limit;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > until {
                let log = tail(&fs::read_to_string(&self.log)?);
                return Err(format!("the server does not end within {limit:?}:\n{log}").into());
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Finds out whether it has ended, which is why it does not do what it should.
    pub(crate) fn check(&mut self) -> Result<(), Box<dyn Error>> {
        let Some(status) = self.child.try_wait()? else { return Ok(()) };
        let log = tail(&fs::read_to_string(&self.log)?);
        Err(format!("the server ended with {status}:\n{log}").into())
    }

    /// It stands still until it is to go on; its connections stay.
    pub(crate) fn pause(&self) -> Result<(), Box<dyn Error>> {
        signal(self.child.id(), "-STOP")
    }

    pub(crate) fn go_on(&self) -> Result<(), Box<dyn Error>> {
        signal(self.child.id(), "-CONT")
    }

    /// The local ports of its TCP connections.
    pub(crate) fn ports(&self) -> Result<BTreeSet<u16>, Box<dyn Error>> {
        tcp_ports(self.child.id())
    }

    /// Processor time used so far, in milliseconds, to the tick of 10 ms.
    pub(crate) fn cpu_ms(&self) -> Result<u64, Box<dyn Error>> {
        cpu_ms(self.child.id())
    }

    /// Memory in use now, and the most so far, in MiB.
    pub(crate) fn rss_mib(&self) -> Result<(f64, f64), Box<dyn Error>> {
        memory_mib(self.child.id())
    }
}

/// Memory that a process has in use now, and the most so far, in MiB.
pub(crate) fn memory_mib(pid: u32) -> Result<(f64, f64), Box<dyn Error>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let mib = |name: &str| kib(&status, name).map(|kib| kib / 1024.0);
    mib("VmRSS:").zip(mib("VmHWM:")).ok_or_else(|| "no memory in /proc".into())
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.kill();
    }
}

/// The address in a log, once its line is whole. Attempts of an earlier run may be logged before it.
fn listening(log: &str) -> Option<SocketAddr> {
    let (_, rest) = log.split_once("listening on http://")?;
    let (addr, _) = rest.split_once('\n')?;
    addr.trim().parse().ok()
}

/// The last lines of a log: why a server ended.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

fn kib(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_line_is_an_address() {
        assert_eq!(listening("listening on http://127.0.0.1:80"), None);
        let addr = listening("{}\nlistening on http://127.0.0.1:80\n{}\n").map(|addr| addr.port());
        assert_eq!(addr, Some(80));
    }

    #[test]
    fn memory_is_read_by_name() {
        assert_eq!(kib("VmHWM:\t  300 kB\nVmRSS:\t  200 kB\n", "VmRSS:"), Some(200.0));
    }
}

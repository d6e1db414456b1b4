//! The host of a run: its folder, the runtime of its own tasks, signals to its processes, and their
//! processor time.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, io, process};

use xtask_workbench::cargo;

/// Runs on this thread alone, so that load and receiver take at most one core from what they measure.
pub(crate) fn run_here<T>(
    task: impl Future<Output = Result<T, Box<dyn Error>>>,
) -> Result<T, Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(task)
}

/// Does the same run by a build with optimisations, if this one has none: else the load would take
/// more of the machine than what it measures. None if this one will do.
pub(crate) fn run_optimised() -> Option<Result<bool, Box<dyn Error>>> {
    cfg!(debug_assertions).then(|| {
        let mut again = cargo();
        again.args(["run", "--quiet", "--release", "--package", "stagger-harness", "--"]);
        Ok(again.args(env::args_os().skip(1)).status()?.success())
    })
}

/// A folder of this process under the system's temporary folder, gone when it is dropped.
#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// An empty one, which no other user of the same name has.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("stagger-{name}-{}-{number}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Sends a signal by its name, as `-TERM`.
pub(crate) fn signal(pid: u32, name: &str) -> Result<(), Box<dyn Error>> {
    let status = Command::new("kill").args([name, &pid.to_string()]).status()?;
    if status.success() { Ok(()) } else { Err(format!("kill {name} {pid}: {status}").into()) }
}

/// Ticks a second in `/proc`: `USER_HZ`, which is 100 on every Linux of today.
const TICK_MS: u64 = 10;

/// The local ports of a process's TCP connections over IPv4.
pub(crate) fn tcp_ports(pid: u32) -> Result<BTreeSet<u16>, Box<dyn Error>> {
    let mut sockets = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // One that is closed meanwhile has no connection.
        let Ok(target) = fs::read_link(entry?.path()) else { continue };
        let name = target.to_string_lossy();
        let inode = name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        sockets.extend(inode.map(str::to_owned));
    }
    let table = fs::read_to_string("/proc/net/tcp")?;
    let ports = table.lines().filter_map(|line| port_of(line, &sockets));
    Ok(ports.collect())
}

/// The local port in a line of `/proc/net/tcp`, if its socket is among these.
fn port_of(line: &str, sockets: &BTreeSet<String>) -> Option<u16> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, inode) = (fields.get(1)?, fields.get(9)?);
    let (_, port) = local.rsplit_once(':')?;
    sockets.contains(*inode).then(|| u16::from_str_radix(port, 16).ok()).flatten()
}

/// Processor time used so far by a process, in milliseconds, to the tick of 10 ms.
pub(crate) fn cpu_ms(pid: u32) -> Result<u64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let stat = Stat::of(&stat).ok_or("no processor time in /proc")?;
    Ok(stat.own * TICK_MS)
}

/// The same for it and its children, those that have ended included.
pub(crate) fn family_ms(parent: u32) -> Result<u64, Box<dyn Error>> {
    let mut ticks = 0;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        // One that ends meanwhile is among those that have ended.
        let Ok(text) = fs::read_to_string(entry.path().join("stat")) else { continue };
        match Stat::of(&text) {
            Some(stat) if pid == parent => ticks += stat.own + stat.ended,
            Some(stat) if stat.parent == parent => ticks += stat.own,
            _ => {}
        }
    }
    Ok(ticks * TICK_MS)
}

/// The processor time in `/proc/PID/stat`, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// User and system time of its own.
    own: u64,
    /// The same of its children that have ended.
    ended: u64,
}

impl Stat {
    /// Fields are counted behind the name, which may hold anything.
    fn of(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let sum = |at: usize| -> Option<u64> {
            Some(fields.get(at)?.parse::<u64>().ok()? + fields.get(at + 1)?.parse::<u64>().ok()?)
        };
        Some(Self { parent: fields.get(1)?.parse().ok()?, own: sum(11)?, ended: sum(13)? })
    }
}

/// The value in the middle; 0 for none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The smallest value that at least so many parts per thousand of `sorted` do not exceed, in ms.
pub(crate) fn quantile(sorted: &[Duration], per_mille: usize) -> f64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000);
    sorted.get(rank.saturating_sub(1)).map_or(0.0, |span| span.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_users_of_one_name_had_the_same_folder() {
        let first = ScratchFolder::new("twins").expect("there is a temporary folder");
        fs::write(first.path().join("kept"), "").expect("written");
        let second = ScratchFolder::new("twins").expect("there is a temporary folder");
        assert!(!second.path().join("kept").exists());
        drop(second);
        assert!(first.path().join("kept").exists());
    }

    #[test]
    fn a_name_with_a_bracket_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 3 1 1 0 -1 4194560 2112 0 12 0 35 17 4 2 20 0 8 0 5000 1 2";
        assert_eq!(Stat::of(stat), Some(Stat { parent: 3, own: 52, ended: 6 }));
    }

    #[test]
    fn the_port_of_a_connection_is_among_those_of_its_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
        let addr = listener.local_addr().expect("it is bound");
        let stream = std::net::TcpStream::connect(addr).expect("it listens");
        let port = stream.local_addr().expect("it is connected").port();
        let ports = tcp_ports(process::id()).expect("it is there");
        assert!(ports.contains(&port) && ports.contains(&addr.port()));
        let own = tcp_ports(std::os::unix::process::parent_id()).expect("it is there");
        assert!(!own.contains(&port), "it is not its parent's");
    }

    #[test]
    fn a_child_is_part_of_its_family() {
        let own = cpu_ms(process::id()).expect("it is there");
        assert!(family_ms(process::id()).expect("it is there") >= own);
    }

    #[test]
    fn a_quantile_is_a_value_that_occurred() {
        let sorted: Vec<Duration> = (1..=10).map(Duration::from_millis).collect();
        let found = [500, 900, 990, 1000].map(|per_mille| quantile(&sorted, per_mille));
        assert_eq!(found, [5.0, 9.0, 10.0, 10.0]);
        assert_eq!((quantile(&[], 500), median(vec![3.0, 1.0, 2.0])), (0.0, 2.0));
    }
}

//! The measured proxies, each in a process of its own: HAProxy, and `stagger proxy`; and the lab's server behind one.

use std::error::Error;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::rig::{cpu_ms, memory_mib};

/// The longest time for a start.
const START_LIMIT: Duration = Duration::from_secs(20);
/// The interval between tries to connect.
const LOOK: Duration = Duration::from_millis(10);
/// Folders for programs of the administrator, which are not on the path of every user.
const FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A running proxy, or a server behind one; killed when dropped.
#[derive(Debug)]
pub(super) struct ProxyProcess {
    pub(super) addr: SocketAddr,
    child: Child,
    log: PathBuf,
}

impl ProxyProcess {
    /// HAProxy with its default number of retries, three, on a 503; everything else as Debian has it.
    pub(super) async fn haproxy(
        folder: &Path,
        upstream: SocketAddr,
    ) -> Result<Self, Box<dyn Error>> {
        let program = installed("haproxy")?;
        let addr = free_port()?;
        let file = folder.join("haproxy.cfg");
        let configuration = format!(
            "defaults\n    mode http\n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\n\n\
             frontend in\n    bind {addr}\n    default_backend api\n\n\
             backend api\n    retry-on 503\n    retries 3\n    server a {upstream}\n"
        );
        fs::write(&file, configuration)?;
        let mut command = Command::new(program);
        // In the foreground, without a master process.
        command.arg("-db").arg("-f").arg(file);
        Self::start(command, addr, folder.join("haproxy.log")).await
    }

    /// `stagger proxy` with one route, whose further lines are `route`.
    pub(super) async fn stagger(
        binary: &Path,
        (folder, name): (&Path, &str),
        (upstream, route): (SocketAddr, &str),
        flags: &[&str],
    ) -> Result<Self, Box<dyn Error>> {
        let addr = free_port()?;
        let file = folder.join(format!("{name}.toml"));
        let routes = format!(
            "[proxy]\nlisten = \"{addr}\"\n\n[route.api]\nupstream = \"http://{upstream}\"\n{route}"
        );
        fs::write(&file, routes)?;
        let mut command = Command::new(binary);
        command.arg("proxy").arg("--config").arg(file).args(flags);
        // Its settings are those above, whatever the caller's shell says.
        let theirs = std::env::vars_os().map(|(name, _)| name);
        for name in theirs.filter(|name| name.to_string_lossy().starts_with("STAGGER_")) {
            command.env_remove(name);
        }
        Self::start(command, addr, folder.join(format!("{name}.log"))).await
    }

    /// The lab's server of a scenario, on a port.
    pub(super) async fn served(
        binary: &Path,
        (folder, name): (&Path, &str),
        scenario: &str,
    ) -> Result<Self, Box<dyn Error>> {
        let addr = free_port()?;
        let mut command = Command::new(binary);
        command.args(["storm", scenario, "--serve", &addr.to_string()]);
        Self::start(command, addr, folder.join(format!("{name}.log"))).await
    }

    /// Starts a process, and waits until it accepts connections.
    async fn start(
        mut command: Command,
        addr: SocketAddr,
        log: PathBuf,
    ) -> Result<Self, Box<dyn Error>> {
        let output = File::create(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        let mut process = Self { addr, child, log };
        let until = Instant::now() + START_LIMIT;
        while TcpStream::connect(addr).await.is_err() {
            if let Some(status) = process.child.try_wait()? {
                return Err(process.fault(&format!("ended with {status}")));
            }
            if Instant::now() > until {
                return Err(process.fault("does not listen"));
            }
            sleep(LOOK).await;
        }
        Ok(process)
    }

    fn fault(&self, what: &str) -> Box<dyn Error> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        format!("the proxy of {} {what}:\n{log}", self.log.display()).into()
    }

    /// Processor time used so far, in milliseconds, to the tick of 10 ms.
    pub(super) fn cpu_ms(&self) -> Result<u64, Box<dyn Error>> {
        cpu_ms(self.child.id())
    }

    /// Memory in use now, in MiB.
    pub(super) fn rss_mib(&self) -> Result<f64, Box<dyn Error>> {
        memory_mib(self.child.id()).map(|(now, _)| now)
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that no program listens on now. Other programs get another one from the system for a while, because it
/// hands them out in turn.
fn free_port() -> Result<SocketAddr, Box<dyn Error>> {
    Ok(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// The place of a program.
fn installed(program: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain(FOLDERS.map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|place| place.is_file());
    found.ok_or_else(|| format!("{program} is not installed: apt-get install {program}").into())
}

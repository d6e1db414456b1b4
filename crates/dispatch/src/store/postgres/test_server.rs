//! A PostgreSQL of one test's own, which it may stop.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres");

/// A running server, ended and deleted with this.
#[derive(Debug)]
pub(crate) struct OwnServer {
    folder: PathBuf,
    pub(crate) url: String,
    tls: Option<u16>,
}

impl OwnServer {
    /// Starts one; none, with a message, where no database is wanted.
    pub(crate) fn start(name: &str) -> Option<Self> {
        if std::env::var_os("STAGGER_TEST_POSTGRES").is_none() {
            eprintln!("skipped: STAGGER_TEST_POSTGRES names no database");
            return None;
        }
        // The name of a socket has room for some hundred characters.
        let folder = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::DirBuilder::new().mode(0o755).create(&folder).unwrap();
        let mut server = Self { folder, url: String::new(), tls: None };
        server.url = server.script("start").trim().to_owned();
        Some(server)
    }

    /// Starts a server that also takes connections over TCP, with TLS for this certificate and key
    /// (PEM). Its address names its socket; the port is for TLS.
    pub(crate) fn start_tls(name: &str, certificate: &str, key: &str) -> Option<(Self, u16)> {
        let mut server = Self::start(name)?;
        server.stop();
        fs::write(server.folder.join("server.crt"), certificate).unwrap();
        fs::write(server.folder.join("server.key"), key).unwrap();
        // Free at this moment: the system gives no port out again soon.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        server.tls = Some(port);
        server.url = server.script("start").trim().to_owned();
        Some((server, port))
    }

    /// The folder for files of the test.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops it immediately, as a crash would.
    pub(crate) fn stop(&self) {
        self.script("stop");
    }

    /// Starts it again.
    pub(crate) fn go_on(&self) {
        self.script("start");
    }

    fn script(&self, act: &str) -> String {
        let mut command = Command::new(SCRIPT);
        command.arg(act).arg(&self.folder);
        if let Some(port) = self.tls.filter(|_| act == "start") {
            command.args(["tls", &port.to_string()]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        Command::new(SCRIPT).arg("stop").arg(&self.folder).output().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

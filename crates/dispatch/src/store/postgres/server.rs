//! A PostgreSQL of one test's own, which it may stop.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres");

/// A running server, ended and deleted with this.
#[derive(Debug)]
pub(crate) struct OwnServer {
    folder: PathBuf,
    pub(crate) url: String,
}

impl OwnServer {
    /// Starts one; none, with a message, where no database is wanted.
    pub(crate) fn start(name: &str) -> Option<Self> {
        if std::env::var_os("STAGGER_POSTGRES").is_none() {
            eprintln!("skipped: STAGGER_POSTGRES names no database");
            return None;
        }
        // The name of a socket has room for some hundred characters.
        let folder = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::DirBuilder::new().mode(0o755).create(&folder).unwrap();
        let mut server = Self { folder, url: String::new() };
        server.url = server.script("start").trim().to_owned();
        Some(server)
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn stop(&self) {
        self.script("stop");
    }

    /// Starts it again.
    pub(crate) fn go_on(&self) {
        self.script("start");
    }

    fn script(&self, act: &str) -> String {
        let output = Command::new(SCRIPT).arg(act).arg(&self.folder).output().unwrap();
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

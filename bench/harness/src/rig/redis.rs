//! A Redis or Valkey for one run.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::scratch::ScratchFolder;
use xtask_workbench::Workspace;

/// A running server, which keeps nothing; ended when dropped.
#[derive(Debug)]
pub(crate) struct Redis {
    script: PathBuf,
    folder: ScratchFolder,
    url: String,
}

impl Redis {
    /// Starts one for `purpose`, which names its folder.
    pub(crate) fn start(purpose: &str) -> Result<Self, Box<dyn Error>> {
        let script = Workspace::load()?.workspace_root.join("scripts/redis");
        let folder = ScratchFolder::new(purpose)?;
        let url = order(&script, "start", folder.path())?;
        Ok(Self { script, folder, url: url.trim().to_owned() })
    }

    /// The address on which it listens: a socket in its folder.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Starts it again, without what it knew.
    pub(crate) fn again(&self) -> Result<(), Box<dyn Error>> {
        order(&self.script, "start", self.folder.path()).map(drop)
    }

    pub(crate) fn stop(&self) -> Result<(), Box<dyn Error>> {
        order(&self.script, "stop", self.folder.path()).map(drop)
    }

    /// It takes what is sent, and answers nothing.
    pub(crate) fn pause(&self) -> Result<(), Box<dyn Error>> {
        self.signal("-STOP")
    }

    pub(crate) fn resume(&self) -> Result<(), Box<dyn Error>> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> Result<(), Box<dyn Error>> {
        let pid = std::fs::read_to_string(self.folder.path().join("redis.pid"))?;
        let status = Command::new("kill").args([signal, pid.trim()]).status()?;
        if status.success() { Ok(()) } else { Err("the store is gone".into()) }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Whoever cannot be stopped is left to whoever looks for it.
        let _ = self.stop();
    }
}

fn order(script: &Path, what: &str, folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut command = Command::new(script);
    let out = command.arg(what).arg(folder).stderr(Stdio::inherit()).output()?;
    if !out.status.success() {
        return Err(format!("scripts/redis {what} failed").into());
    }
    Ok(String::from_utf8(out.stdout)?)
}

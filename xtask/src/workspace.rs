//! The workspace as cargo sees it: packages, their dependencies and features, the target folder.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

/// The output of `cargo metadata --no-deps`.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
    pub(crate) workspace_root: PathBuf,
}

/// One crate of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

/// One line of a crate's dependency tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` is a plain dependency; else "dev" or "build".
    pub(crate) kind: Option<String>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load() -> Result<Self, Box<dyn Error>> {
        let out = cargo().args(["metadata", "--no-deps", "--format-version=1"]).output()?;
        if !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).into());
        }
        Ok(serde_json::from_slice(&out.stdout)?)
    }
}

/// The cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

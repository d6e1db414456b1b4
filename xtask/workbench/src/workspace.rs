//! The workspace as cargo sees it: packages, their dependencies and features, the target folder.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

/// The output of `cargo metadata --no-deps`.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    /// The crates of the workspace.
    pub packages: Vec<Package>,
    /// The folder of all builds.
    pub target_directory: PathBuf,
    /// The folder of the workspace.
    pub workspace_root: PathBuf,
}

/// One crate of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its dependencies of all kinds.
    pub dependencies: Vec<Dependency>,
    /// Its features, and those that each of them switches on.
    pub features: BTreeMap<String, Vec<String>>,
}

/// One line of a crate's dependency tables.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The name of the crate.
    pub name: String,
    /// `None` is a plain dependency; else "dev" or "build".
    pub kind: Option<String>,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    ///
    /// Cargo could not be run, or finds no workspace.
    pub fn load() -> Result<Self, Box<dyn Error>> {
        let out = cargo().args(["metadata", "--no-deps", "--format-version=1"]).output()?;
        if !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).into());
        }
        Ok(serde_json::from_slice(&out.stdout)?)
    }
}

/// The cargo that runs this program.
#[must_use]
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

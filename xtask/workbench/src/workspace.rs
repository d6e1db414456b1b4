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
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One sentence about it.
    pub description: Option<String>,
    /// The path of its `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// The registries that may have it: `None` is all of them, an empty list none.
    pub publish: Option<Vec<String>>,
    /// Its tables for other tools.
    pub metadata: serde_json::Value,
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

impl Package {
    /// Whether it is published to registries.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
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

/// Builds a program of this workspace as the tests do, and returns the command that runs it.
///
/// With every feature of the workspace its crates are those that the tests have built already.
///
/// # Errors
///
/// Cargo could not be run, or the program could not be built.
pub fn program(name: &str) -> Result<Command, Box<dyn Error>> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features", "--bin", name]);
    let status = build.status()?;
    if !status.success() {
        return Err(format!("the program {name} could not be built").into());
    }
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    Ok(Command::new(Workspace::load()?.target_directory.join("debug").join(file)))
}

/// The cargo that runs this program.
#[must_use]
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

//! What a dispatcher keeps its things in, for one run.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use super::scratch::Scratch;
use crate::workspace::Workspace;

/// The stores that a dispatcher can be run on here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreKind {
    /// The file in its folder.
    #[default]
    Embedded,
    /// A PostgreSQL of this run's own, which writes to the disk as others do.
    Postgres,
}

/// A folder, and a database if one is wanted; gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    // The database ends before its folder goes.
    database: Option<Database>,
    folder: Scratch,
}

impl Home {
    /// An empty one.
    pub(crate) fn new(name: &str, store: StoreKind) -> Result<Self, Box<dyn Error>> {
        let folder = Scratch::new(name)?;
        let database = match store {
            StoreKind::Embedded => None,
            StoreKind::Postgres => Some(Database::start(name)?),
        };
        Ok(Self { database, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The store as the dispatcher's flag names it.
    pub(crate) fn store(&self) -> &str {
        self.database.as_ref().map_or("embedded", |database| &database.url)
    }
}

#[derive(Debug)]
struct Database {
    script: PathBuf,
    url: String,
    folder: Scratch,
}

impl Database {
    fn start(name: &str) -> Result<Self, Box<dyn Error>> {
        let script = Workspace::load()?.workspace_root.join("scripts/postgres");
        let folder = Scratch::new(&format!("{name}-database"))?;
        let output =
            Command::new(&script).arg("start").arg(folder.path()).arg("durable").output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let url = String::from_utf8(output.stdout)?.trim().to_owned();
        Ok(Self { script, url, folder })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // If it does not end now, there is nobody left who could end it.
        let _ = Command::new(&self.script).arg("stop").arg(self.folder.path()).output();
    }
}

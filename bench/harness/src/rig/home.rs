//! The folder and store of a dispatcher, for one run.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use clap::ValueEnum;

use super::database::Database;
use super::scratch::ScratchFolder;

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
    folder: ScratchFolder,
}

/// The command line of one node.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Its own folder.
    pub(crate) folder: PathBuf,
    /// The file of its log.
    pub(crate) log: PathBuf,
    /// The store as the dispatcher's flag names it.
    pub(crate) store: String,
    /// After how long a node that is silent is replaced; the default of the flag when `None`.
    pub(crate) lease: Option<Duration>,
    /// The Redis in which its budgets of retries are, if any.
    pub(crate) redis: Option<String>,
}

impl Site {
    /// Has each life of the node write a log of its own below `logs`, to be read after the run.
    pub(crate) fn name_log(&mut self, logs: Option<&Path>, life: usize) -> io::Result<()> {
        let Some(logs) = logs else { return Ok(()) };
        fs::create_dir_all(logs)?;
        self.log = logs.join(format!("{life}.log"));
        Ok(())
    }
}

impl Home {
    /// An empty one.
    pub(crate) fn new(name: &str, store: StoreKind) -> Result<Self, Box<dyn Error>> {
        let folder = ScratchFolder::new(name)?;
        let database = match store {
            StoreKind::Embedded => None,
            StoreKind::Postgres => Some(Database::start(name)?),
        };
        Ok(Self { database, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) const fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The place of one node, with a folder of its own.
    pub(crate) fn site(&self, number: usize) -> Result<Site, Box<dyn Error>> {
        let folder = self.folder().join(format!("node-{number}"));
        fs::create_dir_all(&folder)?;
        let store = self.database.as_ref().map_or("embedded", Database::url).to_owned();
        Ok(Site { log: folder.join("serve.log"), folder, store, lease: None, redis: None })
    }
}

//! A data folder for one test.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{SqliteOptions, SqliteStore};

/// A new folder, deleted with this.
#[derive(Debug)]
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(format!("stagger-store-{process}-{number}")))
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.0, SqliteOptions::default()).unwrap()
    }
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A store in a folder of its own.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    store: SqliteStore,
    _folder: TestFolder,
}

impl ScratchFolder {
    pub(super) fn new() -> Self {
        let folder = TestFolder::new();
        Self { store: folder.open(), _folder: folder }
    }
}

impl Deref for ScratchFolder {
    type Target = SqliteStore;

    fn deref(&self) -> &SqliteStore {
        &self.store
    }
}

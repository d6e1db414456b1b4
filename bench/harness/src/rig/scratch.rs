//! A folder for one run.

use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

/// A folder of this process under the system's temporary folder, gone when it is dropped.
#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// An empty one.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let path = env::temp_dir().join(format!("stagger-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! One process works on a data folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::Error;

/// The lock on a data folder; released when dropped, also by the death of the process.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the lock of `folder`.
    pub(super) fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("stagger.lock");
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = open.map_err(|e| Error::store(format!("{}: {e}", path.display())))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::conflict(format!(
                "{} is locked: another dispatcher uses this folder",
                path.display()
            ))),
            Err(TryLockError::Error(e)) => Err(Error::store(format!("{}: {e}", path.display()))),
        }
    }
}

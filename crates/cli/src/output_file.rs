//! Files that a command writes besides standard output.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::command_error::CommandError;

/// Finds what cannot be written before any work is done.
///
/// # Errors
/// A folder, or a file in a folder that is not there.
pub(crate) fn check(flag: &str, path: &Path) -> Result<(), CommandError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        let bound = "a file in a folder that exists";
        return Err(CommandError::invalid(flag, &path.display().to_string(), bound));
    }
    Ok(())
}

/// Writes a file.
///
/// # Errors
/// The system's refusal.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    fs::write(path, bytes).map_err(|error| failed(path, &error))
}

/// The refusal of a file that could not be written.
pub(crate) fn failed(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Unwritten(PathBuf::from(path), error.to_string())
}

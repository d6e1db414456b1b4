//! The error that ends a command before it has done anything, such as a file that it cannot write.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::error::ErrorKind;
use stagger_core::ConfigError;

use crate::streams;

/// A flag or a file that is wrong.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// Shown with the usage of the command.
    Flag(ErrorKind, String),
    /// A file that is no log, with its name.
    Log(String),
    /// A file that could not be written, and why.
    Unwritten(PathBuf, String),
    /// A file that is wrong, with its place.
    File(String),
}

impl CommandError {
    /// A refusal of flags, with the usage of the command.
    pub(crate) fn flag(kind: ErrorKind, message: &str) -> Self {
        Self::Flag(kind, message.to_owned())
    }

    /// A value that is refused.
    pub(crate) fn bad_value(message: &str) -> Self {
        Self::flag(ErrorKind::ValueValidation, message)
    }

    /// A value of a flag that is outside of its bound.
    pub(crate) fn invalid(flag: &str, value: &str, bound: &str) -> Self {
        Self::bad_value(&format!("invalid value '{value}' for '{flag}': must be {bound}"))
    }

    /// The engine's refusal, with its fields called by their flags.
    pub(crate) fn of_option(error: &ConfigError) -> Self {
        let named = |text: &str| {
            let text = if text == "capacity" { "--capacity" } else { text };
            text.replace("backoff.", "--").replace("limits.max_attempts", "--attempts")
        };
        Self::of_setting(error, named)
    }

    /// The engine's refusal, in which `named` calls its fields by the flags of a command.
    pub(crate) fn of_setting(error: &ConfigError, named: impl Fn(&str) -> String) -> Self {
        let (flag, value, bound) = (named(error.field()), error.value(), named(error.bound()));
        Self::invalid(&flag, value, &bound)
    }

    /// The words of it.
    pub(crate) fn into_message(self) -> String {
        match self {
            Self::Flag(_, message) | Self::Log(message) => message,
            Self::Unwritten(path, why) => format!("cannot write {}: {why}", path.display()),
            Self::File(shown) => shown.trim_start_matches("error: ").to_owned(),
        }
    }

    /// Writes it to standard error; returns the exit code.
    pub(crate) fn tell(self) -> ExitCode {
        match self {
            Self::Flag(_, message) => streams::refuse(&message),
            Self::Log(why) => streams::refuse(&why),
            Self::Unwritten(path, why) => {
                streams::note(&format!("error: cannot write {}: {why}", path.display()));
                ExitCode::FAILURE
            }
            Self::File(shown) => streams::refused(&shown),
        }
    }
}

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

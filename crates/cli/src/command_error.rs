//! The error that ends a command before it has done anything.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use stagger_core::ConfigError;

use crate::stderr;

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

    /// Writes it to standard error; returns the exit code.
    pub(crate) fn tell(self) -> ExitCode {
        match self {
            Self::Flag(_, message) => stderr::refuse(&message),
            Self::Log(why) => stderr::refuse(&why),
            Self::Unwritten(path, why) => {
                stderr::note(&format!("error: cannot write {}: {why}", path.display()));
                ExitCode::FAILURE
            }
            Self::File(shown) => stderr::refused(&shown),
        }
    }
}

//! Why nothing was played.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;
use stagger_core::ConfigError;

use crate::flags::Flags;
use crate::stderr;

/// A flag or a file that is wrong.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// With the usage of the command.
    Flag(Box<clap::Error>),
    /// A file that is no log, with its name.
    Log(String),
    /// A file that could not be written, and why.
    Unwritten(PathBuf, String),
    /// A file that is wrong, with its place.
    File(String),
}

impl Refusal {
    /// A refusal of flags, with the usage of the command.
    pub(super) fn flag(kind: ErrorKind, message: &str) -> Self {
        let mut command = Flags::command();
        command.build();
        Self::Flag(Box::new(match command.find_subcommand_mut("storm") {
            Some(storm) => storm.error(kind, message),
            None => command.error(kind, message),
        }))
    }

    /// A value that is refused.
    pub(super) fn bad_value(message: &str) -> Self {
        Self::flag(ErrorKind::ValueValidation, message)
    }

    /// The engine's refusal, with its fields called by their flags.
    pub(super) fn of_option(error: &ConfigError) -> Self {
        let named = |text: &str| {
            let text = if text == "capacity" { "--capacity" } else { text };
            text.replace("backoff.", "--").replace("limits.max_attempts", "--attempts")
        };
        let flag = named(error.field());
        let (value, bound) = (error.value(), named(error.bound()));
        let message = format!("invalid value '{value}' for '{flag}': must be {bound}");
        Self::flag(ErrorKind::ValueValidation, &message)
    }

    /// Says so on standard error.
    pub(crate) fn tell(self) -> ExitCode {
        match self {
            Self::Flag(error) => error.exit(),
            Self::Log(why) => stderr::refuse(&why),
            Self::Unwritten(path, why) => {
                stderr::note(&format!("error: cannot write {}: {why}", path.display()));
                ExitCode::FAILURE
            }
            Self::File(shown) => stderr::refused(&shown),
        }
    }
}

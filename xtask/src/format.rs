//! Output of the chores: the only file of theirs that prints.

use std::error::Error;
use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

/// A report for people or for programs.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs: one JSON value.
    Json,
}

impl Format {
    /// Prints `report` to standard output in this form.
    #[expect(clippy::print_stdout, reason = "printing is what a chore is for")]
    pub(crate) fn show<T: Serialize>(
        self,
        report: &T,
        table: &impl fmt::Display,
    ) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Table => print!("{table}"),
            Self::Json => println!("{}", serde_json::to_string_pretty(report)?),
        }
        Ok(())
    }
}

/// Prints what another program found to standard output.
#[expect(clippy::print_stdout, reason = "printing is what a chore is for")]
pub(crate) fn emit(text: &str) {
    print!("{text}");
}

/// Prints a note on what is going on to standard error.
#[expect(clippy::print_stderr, reason = "printing is what a chore is for")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints why a chore could not be done to standard error.
pub(crate) fn complain(error: &dyn Error) {
    note(&format!("xtask: {error}"));
}

//! Output of the programs: the only file of theirs that prints.

use std::error::Error;
use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

/// A report for people or for programs.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs: one JSON value.
    Json,
}

impl Format {
    /// Prints `report` to standard output in this form.
    ///
    /// # Errors
    ///
    /// The report cannot be written as JSON.
    #[expect(clippy::print_stdout, reason = "printing is the purpose of these programs")]
    pub fn show<T: Serialize>(
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
#[expect(clippy::print_stdout, reason = "printing is the purpose of these programs")]
pub fn emit(text: &str) {
    print!("{text}");
}

/// Prints a note on what is going on to standard error.
#[expect(clippy::print_stderr, reason = "printing is the purpose of these programs")]
pub fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints to standard error why `program` could not do its work.
pub fn complain(program: &str, error: &dyn Error) {
    note(&format!("{program}: {error}"));
}

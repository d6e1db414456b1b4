//! The chores of `cargo xtask`.

use std::error::Error;
use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use crate::{contracts, features, golden, harness, tidy, vectors};
use xtask_workbench::Format;

/// The command line of the chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The chores of stagger", version)]
pub(crate) struct Chore {
    #[command(subcommand)]
    name: ChoreName,
}

#[derive(Debug, Subcommand)]
enum ChoreName {
    /// Style as a program: sizes, arrows, names, clock reads, dead files. Exit 1 on a finding.
    Tidy {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Writes the map of the files into ARCHITECTURE.md, from their own documentation.
    Map,
    /// Other projects' test vectors, and how many rows pass. Exit 1 on a failed row.
    Vectors {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Measure costs: the engine, the library beside its peers, the dispatcher under load.
    #[command(disable_help_flag = true)]
    Bench(Passed),
    /// Kills the dispatcher under load, and counts what was lost. Exit 1 when anything was.
    #[command(disable_help_flag = true)]
    Crash(Passed),
    /// Many processes with one budget, through an outage, and without their store. Exit 1 when there
    /// were too many retries, or when a process did not find its store again.
    #[command(disable_help_flag = true)]
    Fleet(Passed),
    /// Check the promises of every integration over real sockets. Exit 1 on a failed or an empty cell.
    Contracts {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Writes the grid to docs/contracts.md when every cell is good.
        #[arg(long)]
        write: bool,
    },
    /// Every reference table of the storm lab with our figures beside theirs. Exit 1 when a cell is
    /// out of its tolerance. Some minutes.
    Golden {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Runs, in per cent of those of a full comparison
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        percent: u32,
        /// The tables to compare, as L1 or L9a; all when none is named
        tables: Vec<String>,
    },
    /// Lints the engine and its shell with each feature alone, and with none.
    Features,
}

/// The arguments of a run of the harness, which reads them itself.
#[derive(Debug, Args)]
struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Chore {
    /// Does it; `Ok(false)` means that it was done and found something wrong.
    pub(crate) fn run(self) -> Result<bool, Box<dyn Error>> {
        match self.name {
            ChoreName::Tidy { format } => tidy::run(format),
            ChoreName::Map => tidy::write_map(),
            ChoreName::Vectors { format } => vectors::run(format),
            ChoreName::Bench(passed) => harness::run("bench", &passed.arguments),
            ChoreName::Crash(passed) => harness::run("crash", &passed.arguments),
            ChoreName::Fleet(passed) => harness::run("fleet", &passed.arguments),
            ChoreName::Contracts { format, write } => contracts::run(format, write),
            ChoreName::Golden { format, percent, tables } => golden::run(format, percent, &tables),
            ChoreName::Features => features::run(),
        }
    }
}

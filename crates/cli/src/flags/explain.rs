//! The flags of `stagger explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::CallsFlags;
use crate::policy_file::PolicySource;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger explain --preset grpc --slo 2s        exit 1: nothing bounds an attempt that hangs
  stagger explain policy.toml                   every policy of a file; policy.toml#NAME for one
  stagger explain --preset batch --format json  the same figures for a program
  stagger explain policy.toml --html page.html  and a page to show around
  stagger explain --preset webhook --rps 50 --fleet 40 --downstream-capacity 1000
                                                exit 1: the fleet's retries exceed what is served

Exit codes: 0 clean, or warnings only; 1 errors among the findings; 2 a flag or a file that is wrong.";

/// The flags of `stagger explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {
    #[command(flatten)]
    pub(crate) source: PolicySource,

    /// The form of the output; in JSON, spans are milliseconds and shares are from 0 to 1
    #[arg(long, value_enum, default_value_t = ExplainFormat::Table)]
    pub(crate) format: ExplainFormat,

    /// Also write a page with all figures: one HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten, next_help_heading = "What is known of the calls")]
    pub(crate) calls: CallsFlags,
}

/// The forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For people
    Table,
    /// One object, or a list of them for several policies
    Json,
}

//! The flags of `stagger lint`.

use clap::{Args, ValueEnum};

use super::CallsFlags;
use crate::policy_file::PolicyArgument;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger lint policy.toml                      exit 1 on errors, for CI
  stagger lint policies/*.toml --deny warnings  exit 1 on anything
  stagger lint policy.toml --slo 2s --rps 500 --fleet 40 --downstream-capacity 30000
                                                exit 1 on errors for such calls
  stagger choose --slo 2s --idempotent --format toml | stagger lint -

In the file, [calls.NAME] says what is known of the calls under [policy.NAME]:
  [calls.checkout]
  slo = \"2s\"
  idempotent = true
  allow = [\"no-budget\"]                          findings that are accepted

Exit codes: 0 clean, or warnings only; 1 errors; 2 a file that cannot be read or is wrong.";

/// The flags of `stagger lint`.
#[derive(Debug, Args)]
pub(crate) struct LintFlags {
    /// Files of policies in TOML or JSON, folders of them, `-` for standard input, FILE#NAME for one
    /// policy of several
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PolicyArgument>,

    /// Exit 1 on warnings too
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,

    /// The form of the findings
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: LintFormat,

    #[command(flatten, next_help_heading = "What is known of the calls (it wins over the file)")]
    pub(crate) calls: CallsFlags,
}

/// Findings that fail besides errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    Warnings,
}

/// For people, for programs, for code scanning, or as annotations of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintFormat {
    /// The lines with what is wrong in them
    Text,
    /// One object, as docs/lint.md has it
    Json,
    /// SARIF 2.1.0, which code scanning reads
    Sarif,
    /// Commands of GitHub Actions, which annotate the lines of a pull request
    Github,
}

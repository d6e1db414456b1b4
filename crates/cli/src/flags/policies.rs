//! The flags of the commands that judge policies: facts about the calls, `explain` and `lint`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stagger_core::Span;
use stagger_explain::{Code, Setting};

use crate::policy_file::{CAPACITY, FLEET, LAYERS, PolicyArgument, PolicySource, RPS};

/// Facts about the calls, which win over those of a file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CallsFlags {
    /// The longest time that a call may take, retries included
    #[arg(long, value_name = "TIME", value_parser = span, allow_hyphen_values = true)]
    slo: Option<Span>,

    /// The time within which 99 of 100 healthy attempts are answered
    #[arg(long, value_name = "TIME", value_parser = span, allow_hyphen_values = true)]
    p99: Option<Span>,

    /// First attempts a second of one process
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, RPS), allow_negative_numbers = true)]
    rps: Option<f64>,

    /// Processes that call the same destination
    #[arg(long, value_name = "N", value_parser = |text: &str| count(text, FLEET), allow_negative_numbers = true)]
    fleet: Option<u32>,

    /// Calls a second that the destination serves
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, CAPACITY), allow_negative_numbers = true)]
    downstream_capacity: Option<f64>,

    /// Services of a chain, each of which retries
    #[arg(long, value_name = "N", value_parser = |text: &str| count(text, LAYERS), allow_negative_numbers = true)]
    layers: Option<u32>,

    /// Whether the calls may be repeated without harm
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    idempotent: Option<bool>,
}

impl CallsFlags {
    /// The facts of a file and of the flags together.
    pub(crate) fn over(&self, file: &Setting) -> Setting {
        Setting {
            slo: self.slo.or(file.slo),
            p99: self.p99.or(file.p99),
            rps: self.rps.or(file.rps),
            fleet: self.fleet.or(file.fleet),
            downstream_capacity: self.downstream_capacity.or(file.downstream_capacity),
            layers: self.layers.or(file.layers),
            idempotent: self.idempotent.or(file.idempotent),
        }
    }
}

fn span(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(Span::ZERO) => Err("must be more than 0s".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(format!("must be {error}")),
    }
}

fn number(text: &str, (lo, hi): (f64, f64)) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (lo..=hi).contains(number));
    number.ok_or_else(|| format!("must be a number from {lo} to {hi}"))
}

fn count(text: &str, (lo, hi): (u32, u32)) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (lo..=hi).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {lo} to {hi}"))
}

/// The end of its help.
pub(super) const EXPLAIN_EXAMPLES: &str = "\
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

/// The end of its help.
pub(super) const LINT_EXAMPLES: &str = "\
Examples:
  stagger lint policy.toml                      exit 1 on errors, for CI
  stagger lint policies/*.toml --deny warnings  exit 1 on anything
  stagger lint manifests/ --format github       Istio, Envoy, Polly and others as they are
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
    /// Files of policies or of another product's settings, folders of them, `-` for standard input,
    /// FILE#NAME for one policy of several
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PolicyArgument>,

    /// Exit 1 on warnings too
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,

    /// A finding that is accepted, by its code; may be given several times
    #[arg(long, value_name = "CODE", value_parser = code)]
    pub(crate) allow: Vec<Code>,

    /// The form of the findings
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: LintFormat,

    #[command(flatten, next_help_heading = "What is known of the calls (it wins over the file)")]
    pub(crate) calls: CallsFlags,
}

fn code(name: &str) -> Result<Code, String> {
    name.parse().map_err(|_| "must be the code of a finding, as docs/lint.md lists them".to_owned())
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

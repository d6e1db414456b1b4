//! The flags of `stagger storm`, each with its default, range and reason.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use stagger_core::Span;
use stagger_replay::{AccessLogFormat as LogFormat, LogMap};
use stagger_sim::{CATALOGUE, Equal, Law};

use super::completions::Offers;
use super::load::LoadFlags;
use super::replay::ReplayFlags;
use crate::policy_file::PolicyArgument;
use crate::shipped::ShippedScenario;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger storm                                 1000 callers fail together: when do they come back?
  stagger storm --up-at 1s --law none,full      a longer outage, two laws
  stagger storm list                            every scenario that ships
  stagger storm github-2026-08 --policy policy.toml  an outage that happened, under your policy
  stagger storm L1 --format csv                 one of them by its table, for a spreadsheet
  stagger storm --law full --callers 1000000 --runs 1   a million callers, in a second
  stagger storm herd --callers 200 --law full --serve 127.0.0.1:7879  its server, on a port
  stagger storm herd --callers 200 --law full --against http://127.0.0.1:7879/
        its callers, in real time and beside the lab";

/// Client ids are 32 bits and a waiting client takes some 100 bytes: 50 million are 5 GB.
const MAX_CALLERS: i64 = 50_000_000;
/// Beyond some thousand attempts a call is a loop, and a slip of a digit would run for hours.
const MAX_ATTEMPTS: i64 = 10_000;
/// The sd of a mean falls with the root of the runs: a million of them give three digits more.
const MAX_RUNS: i64 = 1_000_000;
/// More threads than any machine has; each one keeps a world in memory.
const MAX_THREADS: i64 = 1_024;

/// The flags of `stagger storm`; what is left out has the scenario's own default.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
pub(crate) struct StormFlags {
    /// A scenario by its name or its table, a file of your own, or `list` [lockstep --up-at 200ms]
    #[arg(value_name = "NAME|FILE.toml", value_parser = scenarios(), hide_possible_values = true,
        value_hint = ValueHint::FilePath)]
    pub(crate) scenario: Option<OsString>,

    /// The time at which the server is up again [as the scenario has it]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) up_at: Option<Span>,

    /// Calls a second beside those of the herd, by callers that never retry
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=MAX_CALLERS))]
    pub(crate) beside: Option<u32>,

    /// The number of callers; for shapes, of retries in one wave
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CALLERS))]
    pub(crate) callers: Option<u32>,

    /// Attempts of one call in all, the first included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_ATTEMPTS))]
    pub(crate) attempts: Option<u32>,

    /// The ceiling of the first delay
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) base: Option<Span>,

    /// The bound of every ceiling, at least the base
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) cap: Option<Span>,

    /// The laws to compare, with commas between them [all that the scenario has]
    #[arg(long, value_name = "LAW", value_delimiter = ',', value_parser = law())]
    pub(crate) law: Vec<Law>,

    /// The common measure of the laws: as many attempts, or as much waiting in the mean [attempts]
    #[arg(long, value_name = "RULE", value_parser = equal())]
    pub(crate) equal: Option<Equal>,

    /// A policy of your own to put beside the laws: a file, or one of several in it
    #[arg(long, value_name = "FILE[#NAME]")]
    pub(crate) policy: Vec<PolicyArgument>,

    /// Play a grid over one or two settings, in so many steps [8]
    #[arg(long, value_name = "KEY=A..B[/STEPS]")]
    pub(crate) sweep: Vec<String>,

    /// Runs behind every mean, each under a seed of its own [as the scenario has it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_RUNS))]
    pub(crate) runs: Option<u32>,

    /// The seed of all runs: the same one prints the same bytes on every machine [1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Threads to play runs on; figures do not depend on it [one a core]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Replay the calls of an access log, with the outages in it, instead of a scenario; several
    /// files are one log, and - is standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["scenario", "up_at", "beside", "callers"],
    )]
    pub(crate) from_log: Vec<PathBuf>,

    /// The format of the log, by its name [told by its first lines]
    #[arg(long, value_name = "FORMAT", requires = "from_log", value_parser = log_format())]
    pub(crate) log_format: Option<LogFormat>,

    /// Columns of CSV or JSON lines, as in time=ts,status=code,duration=took:us,id=req
    #[arg(long, value_name = "MAP", requires = "from_log", value_parser = log_map)]
    pub(crate) log_map: Option<LogMap>,

    /// Attempts that the backend of the log works on at once [no bound]
    #[arg(long, value_name = "N", requires = "from_log",
        value_parser = clap::value_parser!(u32).range(1..=MAX_CALLERS))]
    pub(crate) capacity: Option<u32>,

    #[command(flatten)]
    pub(crate) replay: ReplayFlags,

    #[command(flatten)]
    pub(crate) load: LoadFlags,

    /// Also write a page with the answer, the pictures and all figures: one HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Also write the pictures into this folder, as SVG and, in a build with the
    /// feature png, as PNG
    #[arg(long, value_name = "FOLDER")]
    pub(crate) pictures: Option<PathBuf>,

    /// No progress, and no word on how long it took
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The form of the output; in JSON and CSV, shares are from 0 to 1
    #[arg(long, value_enum, default_value_t = StormFormat::Table)]
    pub(crate) format: StormFormat,
}

/// The forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StormFormat {
    /// For people
    Table,
    /// One object
    Json,
    /// One line a row, with a header
    Csv,
}

fn time(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error| format!("must be {error}"))
}

fn law() -> impl TypedValueParser<Value = Law> {
    let names = PossibleValuesParser::new(Law::ALL.map(Law::name));
    names.try_map(|name| Law::named(&name).ok_or("no such law"))
}

pub(super) fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    let names = PossibleValuesParser::new(LogFormat::ALL.map(LogFormat::name));
    names.try_map(|name| LogFormat::named(&name).ok_or("no such format"))
}

pub(super) fn log_map(text: &str) -> Result<LogMap, String> {
    text.parse().map_err(|error: stagger_core::ConfigError| format!("must be {}", error.bound()))
}

fn equal() -> impl TypedValueParser<Value = Equal> {
    PossibleValuesParser::new(["attempts", "mean-wait"]).map(|rule| match rule.as_str() {
        "mean-wait" => Equal::MeanWait,
        _ => Equal::Attempts,
    })
}

pub(super) fn threads() -> impl TypedValueParser<Value = NonZeroUsize> {
    let range = clap::value_parser!(u16).range(1..=MAX_THREADS);
    range.try_map(|n| NonZeroUsize::new(usize::from(n)).ok_or("must be at least 1"))
}

/// A scenario by its name, or a file; an unknown one is refused where scenarios are found.
fn scenarios() -> impl TypedValueParser<Value = OsString> {
    let shipped = ShippedScenario::all().map(|shipped| shipped.name);
    let named = CATALOGUE.iter().map(|named| named.name);
    let names: Vec<&str> = named.chain(["shapes", "list"]).chain(shipped).collect();
    Offers::of(&names, OsStringValueParser::new())
}

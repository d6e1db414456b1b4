//! The flags of `stagger tune`. What a value may be is checked where worlds and objective are made.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use stagger_replay::{AccessLogFormat as LogFormat, LogMap};

use super::storm::{log_format, log_map, threads};
use crate::policy_file::PolicyArgument;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger tune --load 100 --capacity 150 --outage down=5s..30s --deadline 2s
  stagger tune --scenario night.toml --deadline 2s --out policy.toml   the outage of a file
  stagger tune --from-log access.log --workers 40 --deadline 5s        and that of a log
  stagger tune --outage stall=2s..10s --outage failing:20%=1m --html page.html
  stagger tune --policy policy.toml --format json                      beside a policy of your own
  stagger tune --load 4 --capacity 100 --outage down=1s --events 2000000 --format toml

Outages: down, closed, stall, failing:SHARE or slow:FACTOR, each =TIME, =TIME..TIME or =forever.
The calls are taken to be idempotent: every one of them may be retried.";

/// The flags that describe worlds, which a scenario or a log describes instead.
const MODEL: [&str; 6] = ["load", "capacity", "service", "processes", "queue", "outage"];

/// The flags of `stagger tune`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
pub(crate) struct TuneFlags {
    /// The share of calls that must succeed within the deadline [99.9%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) success: Option<String>,

    /// The longest time that a call may take, retries included [2s]
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<String>,

    /// The latency that 99 % of all calls must keep as well [none]
    #[arg(long, value_name = "TIME")]
    pub(crate) p99: Option<String>,

    /// Calls a second of all processes together [100]
    #[arg(long, value_name = "N")]
    pub(crate) load: Option<String>,

    /// Attempts a second that the server serves at most [200]
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<String>,

    /// The mean time of the server's work on one attempt [20ms, or 1/capacity where that is longer]
    #[arg(long, value_name = "TIME")]
    pub(crate) service: Option<String>,

    /// Processes that share the calls, each with its own budget and breaker [10]
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<String>,

    /// Attempts that may wait at the server; it refuses those beyond [no bound]
    #[arg(long, value_name = "N")]
    pub(crate) queue: Option<String>,

    /// An outage that a world may have; several are equally likely [down=5s..30s]
    #[arg(long, value_name = "KIND=TIME..TIME")]
    pub(crate) outage: Vec<String>,

    /// Take the worlds from a scenario file instead: every case of it, under many seeds
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath, conflicts_with_all = MODEL)]
    pub(crate) scenario: Option<PathBuf>,

    /// Take calls and outages from an access log instead, under many seeds
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "scenario", conflicts_with_all = MODEL)]
    pub(crate) from_log: Option<PathBuf>,

    /// The format of the log: combined, envoy, csv or jsonl [told by its first lines]
    #[arg(long, value_name = "FORMAT", requires = "from_log", value_parser = log_format())]
    pub(crate) log_format: Option<LogFormat>,

    /// Columns of CSV or JSON lines, as in time=ts,status=code,duration=took:us,id=req
    #[arg(long, value_name = "MAP", requires = "from_log", value_parser = log_map)]
    pub(crate) log_map: Option<LogMap>,

    /// Attempts that the server of the log works on at once [no bound]
    #[arg(long, value_name = "N", requires = "from_log", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workers: Option<u32>,

    /// Policies of your own that are candidates too: a file, or one policy of it
    #[arg(long, value_name = "FILE[#NAME]")]
    pub(crate) policy: Vec<PolicyArgument>,

    /// The seed: the same one prints the same bytes on every machine [1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Events to simulate, about: more of them tell smaller differences apart [60000000]
    #[arg(long, value_name = "N")]
    pub(crate) events: Option<u64>,

    /// Threads to play worlds on; figures do not depend on it [one a core]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Also write the policy into this file, as `stagger explain` reads it
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Also write a page with the answer, the front and all figures: one HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// No progress
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The form of the output; in JSON, spans are milliseconds and shares are from 0 to 1
    #[arg(long, value_enum, default_value_t = TuneFormat::Table)]
    pub(crate) format: TuneFormat,
}

/// The forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TuneFormat {
    /// For people
    Table,
    /// One object
    Json,
    /// The policy file alone
    Toml,
}

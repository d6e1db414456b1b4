//! The flags of `stagger storm`, each with its default, range and reason.

use std::num::NonZeroUsize;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use stagger_core::Span;
use stagger_sim::Law;

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
    /// What happens
    #[arg(value_enum, default_value_t = Scenario::Lockstep)]
    pub(crate) scenario: Scenario,

    /// When the server is up, counted from the common failure [lockstep: 200ms]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) up_at: Option<Span>,

    /// How many callers; for shapes, retries in one wave [1000; shapes: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CALLERS))]
    pub(crate) callers: Option<u32>,

    /// Attempts of one call in all, the first included [6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_ATTEMPTS))]
    pub(crate) attempts: Option<u32>,

    /// The ceiling of the first delay [100ms; shapes: 1s]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) base: Option<Span>,

    /// The bound of every ceiling, at least the base [10s; shapes: 60s]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) cap: Option<Span>,

    /// The laws to compare, with commas between them [all]
    #[arg(long, value_name = "LAW", value_delimiter = ',', value_parser = law())]
    pub(crate) law: Vec<Law>,

    /// Runs behind every mean, each under a seed of its own [200; poisson, shapes: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_RUNS))]
    pub(crate) runs: Option<u32>,

    /// The seed of all runs: the same one prints the same bytes on every machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Threads to play runs on; figures do not depend on it [one a core]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub(crate) threads: Option<NonZeroUsize>,

    /// How to print it; in JSON and CSV, success is a share from 0 to 1
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// The scenarios that ship.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// All callers fail at once, and the server is up a little later
    Lockstep,
    /// One caller every 2.0, 2.2 or 2.3 ms, and an outage of 0.2 s
    Tutorial,
    /// 500 callers a second in a Poisson process, and outages from 0.2 to 30 s
    Poisson,
    /// The laws alone: means, the weight on the cap, uniform against Gaussian
    Shapes,
}

impl Scenario {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Lockstep => "lockstep",
            Self::Tutorial => "tutorial",
            Self::Poisson => "poisson",
            Self::Shapes => "shapes",
        }
    }
}

/// The forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
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

fn threads() -> impl TypedValueParser<Value = NonZeroUsize> {
    let range = clap::value_parser!(u16).range(1..=MAX_THREADS);
    range.try_map(|n| NonZeroUsize::new(usize::from(n)).ok_or("must be at least 1"))
}

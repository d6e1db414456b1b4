//! Which measurement, and how it is shown.

use std::error::Error;

use clap::{Args, ValueEnum};

use super::{core, peers};
use crate::format::Format;

/// What to measure, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[arg(value_enum)]
    what: What,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Fewer operations, only to see that it runs (peers).
    #[arg(long)]
    quick: bool,
    /// Show what peers do on an input beside what we do, instead of what it costs (peers).
    #[arg(long)]
    facts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum What {
    /// The engine, `stagger-core`.
    Core,
    /// The library beside its peers, in one run.
    Peers,
}

/// Measures and shows; false when nothing was measured.
pub(crate) fn run(bench: &Bench) -> Result<bool, Box<dyn Error>> {
    match bench.what {
        What::Core if bench.quick || bench.facts => {
            Err("--quick and --facts belong to `bench peers`".into())
        }
        What::Core => core::run(bench.format),
        What::Peers if bench.facts => peers::facts(),
        What::Peers => peers::run(bench.format, bench.quick),
    }
}

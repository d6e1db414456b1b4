//! Which measurement, and how it is shown.

use std::error::Error;

use clap::{Args, ValueEnum};

use super::{core, dispatch, neighbours, peers, sim};
use crate::format::Format;
use crate::rig::{StoreKind, run_optimised};

/// Seconds of a run of `neighbours`: as long as a hung endpoint holds an attempt.
const SECONDS: u64 = 30;

/// What to measure, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[arg(value_enum)]
    what: What,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Fewer operations, only to see that it runs (peers, sim, dispatch).
    #[arg(long)]
    quick: bool,
    /// What the dispatcher keeps everything in (dispatch) [default: embedded]
    #[arg(long, value_enum)]
    store: Option<StoreKind>,
    /// Show what peers do on an input beside what we do, instead of what it costs (peers).
    #[arg(long)]
    facts: bool,
    /// Seconds of each of the three runs (neighbours) [default: 30]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum What {
    /// The engine, `stagger-core`.
    Core,
    /// The library beside its peers, in one run.
    Peers,
    /// The lab's world beside other simulators, on one model.
    Sim,
    /// The dispatcher under load.
    Dispatch,
    /// What one hung or dripping endpoint costs the others.
    Neighbours,
}

/// Measures and shows; false when nothing was measured, or it found something wrong.
pub(crate) fn run(bench: &Bench) -> Result<bool, Box<dyn Error>> {
    use What::{Core, Dispatch, Neighbours, Peers, Sim};
    let can_be_quick = matches!(bench.what, Peers | Sim | Dispatch);
    refuse("--quick", bench.quick && !can_be_quick, "peers, sim, dispatch")?;
    refuse("--facts", bench.facts && bench.what != Peers, "peers")?;
    refuse("--seconds", bench.seconds.is_some() && bench.what != Neighbours, "neighbours")?;
    refuse("--store", bench.store.is_some() && bench.what != Dispatch, "dispatch")?;
    match bench.what {
        Core => core::run(bench.format),
        Peers if bench.facts => peers::facts(),
        Peers => peers::run(bench.format, bench.quick),
        Sim => sim::run(bench.format, bench.quick),
        Dispatch | Neighbours => run_optimised().unwrap_or_else(|| dispatcher(bench)),
    }
}

fn dispatcher(bench: &Bench) -> Result<bool, Box<dyn Error>> {
    match bench.seconds {
        _ if bench.what == What::Dispatch => {
            dispatch::run(bench.format, bench.quick, bench.store.unwrap_or_default())
        }
        seconds => neighbours::run(bench.format, seconds.unwrap_or(SECONDS)),
    }
}

fn refuse(flag: &str, misplaced: bool, owners: &str) -> Result<(), String> {
    if misplaced { Err(format!("{flag} belongs to: {owners}")) } else { Ok(()) }
}

//! The choice of a measurement and of its output.

use std::error::Error;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    allocations, bloat, budget, core, dispatch, neighbours, nodes, peers, proxy, queue, sim,
};
use crate::rig::{StoreKind, run_optimised};
use xtask_workbench::Format;

/// Seconds of a run of `neighbours`: as long as a hung endpoint holds an attempt.
const SECONDS: u64 = 30;
/// Seconds at each depth of `queue`: two thousand messages, so that a 99th percentile is one of twenty.
const QUEUE_SECONDS: u64 = 10;
/// Depths of `queue`.
const DEPTHS: [u32; 3] = [1_000, 100_000, 1_000_000];
/// Seconds of the outage of `budget`: so long that what is in hand at its start weighs little.
const OUTAGE_SECONDS: u64 = 120;
/// Deliveries of `bloat`.
const DELIVERIES: u32 = 1_000_000;

/// The measurement and its output.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[arg(value_enum)]
    what: What,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Fewer operations, only to see that it runs (peers, sim, dispatch, proxy).
    #[arg(long)]
    quick: bool,
    /// The store of the dispatcher (dispatch, queue, bloat) [default: embedded, or postgres
    /// where nothing else will do]
    #[arg(long, value_enum)]
    store: Option<StoreKind>,
    /// Numbers of nodes on one database, one measurement each; one number for queue (dispatch, queue)
    /// [default: one node, two for queue on postgres]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=8))]
    nodes: Vec<u8>,
    /// A binary to measure, instead of one that is built for it (proxy, dispatch with --nodes)
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Open deliveries that wait while fresh ones are measured, from few to many (queue)
    /// [default: 1000,100000,1000000]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(100..=4_000_000))]
    depths: Vec<u32>,
    /// Deliveries that are accepted and settled (bloat) [default: 1000000]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    deliveries: Option<u32>,
    /// Show what peers do on an input beside what we do, instead of what it costs (peers).
    #[arg(long)]
    facts: bool,
    /// Count instructions too, which takes valgrind (peers).
    #[arg(long)]
    instructions: bool,
    /// Layouts of calls, each measured alone (budget) [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    layouts: Vec<budget::Layout>,
    /// Seconds of each of the three runs (neighbours), at each depth (queue) or of the outage (budget, at least 100)
    /// [default: 30, 10, 120]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum What {
    /// The engine, `stagger-core`.
    Core,
    /// The library beside its peers, in one run.
    Peers,
    /// The programs of the migration guide on one fault script, before and after.
    Migrations,
    /// The allocations of a clean call, on every path of the library.
    Allocations,
    /// The lab's world beside other simulators, on one model.
    Sim,
    /// The dispatcher under load, one node or several.
    Dispatch,
    /// The cost of one hung or dripping endpoint to the others.
    Neighbours,
    /// The cost of a fresh delivery beside many that wait.
    Queue,
    /// The growth of the database with many deliveries.
    Bloat,
    /// The retries that the default budget lets through in an outage, in every layout of calls.
    Budget,
    /// The egress proxy beside HAProxy: attempts of a herd, cost of a request, a budget in Redis.
    Proxy,
}

/// Measures and shows; false when nothing was measured, or it found something wrong.
pub(crate) fn run(bench: &Bench) -> Result<bool, Box<dyn Error>> {
    use What::{
        Allocations, Bloat, Budget, Core, Dispatch, Migrations, Neighbours, Peers, Proxy, Queue,
        Sim,
    };
    let Bench { what, format, quick, .. } = *bench;
    refuse(
        "--quick",
        quick && !matches!(what, Peers | Sim | Dispatch | Proxy),
        "peers, sim, dispatch, proxy",
    )?;
    refuse("--facts", bench.facts && what != Peers, "peers")?;
    refuse("--instructions", bench.instructions && what != Peers, "peers")?;
    let timed = matches!(what, Neighbours | Queue | Budget);
    refuse("--seconds", bench.seconds.is_some() && !timed, "neighbours, queue, budget")?;
    refuse("--layouts", !bench.layouts.is_empty() && what != Budget, "budget")?;
    let stored = matches!(what, Dispatch | Queue | Bloat);
    refuse("--store", bench.store.is_some() && !stored, "dispatch, queue, bloat")?;
    let several = matches!(what, Dispatch | Queue);
    refuse("--nodes", !bench.nodes.is_empty() && !several, "dispatch, queue")?;
    let given = what == Proxy || (what == Dispatch && !bench.nodes.is_empty());
    refuse("--binary", bench.binary.is_some() && !given, "proxy, dispatch with --nodes")?;
    refuse("--depths", !bench.depths.is_empty() && what != Queue, "queue")?;
    refuse("--deliveries", bench.deliveries.is_some() && what != Bloat, "bloat")?;
    match what {
        Core => core::run(format),
        Peers if bench.facts => peers::facts(),
        Peers => peers::run(format, (quick, bench.instructions)),
        Migrations => peers::migrations(format),
        Allocations => allocations::run(format),
        Sim => sim::run(format, quick),
        Budget => budget::run(format, &bench.layouts, bench.outage_seconds()?),
        Dispatch | Neighbours | Queue | Bloat | Proxy => {
            bench.check_store()?;
            // A binary of one's own is measured by the build that is there.
            let again = if bench.binary.is_none() { run_optimised() } else { None };
            again.unwrap_or_else(|| bench.dispatcher())
        }
    }
}

impl Bench {
    fn check_store(&self) -> Result<(), String> {
        let embedded = self.store.unwrap_or_default() == StoreKind::Embedded;
        match self.nodes.iter().find(|nodes| **nodes > 1 || self.what == What::Dispatch) {
            Some(nodes) if embedded => Err(format!("--nodes {nodes}: needs --store postgres")),
            _ if self.nodes.len() > 1 && self.what == What::Queue => {
                Err(format!("--nodes: queue takes one number, not {}", self.nodes.len()))
            }
            _ if self.store == Some(StoreKind::Embedded) && self.what == What::Bloat => {
                Err("--store embedded: bloat is measured on postgres".to_owned())
            }
            _ if !self.depths.is_sorted() => Err("--depths: from few to many".to_owned()),
            _ => Ok(()),
        }
    }

    fn outage_seconds(&self) -> Result<u64, String> {
        match self.seconds.unwrap_or(OUTAGE_SECONDS) {
            seconds @ ..100 => Err(format!("--seconds {seconds}: an outage takes at least 100")),
            seconds => Ok(seconds),
        }
    }

    fn dispatcher(&self) -> Result<bool, Box<dyn Error>> {
        let store = self.store.unwrap_or_default();
        match self.what {
            What::Queue => {
                // One node hands nothing over, so there is nothing to claim.
                let several = if store == StoreKind::Postgres { 2 } else { 1 };
                let nodes = self.nodes.first().copied().unwrap_or(several);
                let depths = if self.depths.is_empty() { &DEPTHS[..] } else { &self.depths };
                let seconds = self.seconds.unwrap_or(QUEUE_SECONDS);
                queue::run(self.format, store, (nodes, depths), seconds)
            }
            What::Proxy => proxy::run(self.format, self.quick, self.binary.as_deref()),
            What::Bloat => bloat::run(self.format, self.deliveries.unwrap_or(DELIVERIES)),
            What::Dispatch if !self.nodes.is_empty() => {
                nodes::run(self.format, self.quick, &self.nodes, self.binary.as_deref())
            }
            What::Dispatch => dispatch::run(self.format, self.quick, store),
            _ => neighbours::run(self.format, self.seconds.unwrap_or(SECONDS)),
        }
    }
}

fn refuse(flag: &str, misplaced: bool, owners: &str) -> Result<(), String> {
    if misplaced { Err(format!("{flag} belongs to: {owners}")) } else { Ok(()) }
}

//! The command line of the harness.

use std::error::Error;

use clap::{Parser, Subcommand};

use crate::{bench, crash, fleet, hostile, watch};

/// The command line of the harness.
#[derive(Debug, Parser)]
#[command(
    name = "harness",
    bin_name = "cargo xtask",
    about = "Load, crash, fleet and attack runs",
    version
)]
pub(crate) struct Harness {
    #[command(subcommand)]
    run: Run,
}

#[derive(Debug, Subcommand)]
enum Run {
    /// Measure costs: the engine, the library beside its peers, the dispatcher under load.
    Bench(bench::Bench),
    /// Kills the dispatcher under load, and counts what was lost. Exit 1 when anything was.
    Crash(crash::Crash),
    /// Many processes with one budget, through an outage, and without their store. Exit 1 when there
    /// were too many retries, or when a process did not find its store again.
    Fleet(fleet::Fleet),
    /// Attacks by one client or tenant, and what they cost another. Exit 1 when that is more than the goals.
    Hostile(hostile::Hostile),
    /// Retry storms and calm loads of the lab, and what `stagger watch` says of their logs. Exit 1 when
    /// storms are missed, late, or seen where there are none.
    Watch(watch::Watch),
    /// One process of the fleet; told what to do on its standard input.
    #[command(hide = true)]
    Member(fleet::FleetMember),
}

impl Harness {
    /// Makes the run; `Ok(false)` means that it was made and found something wrong.
    pub(crate) fn run(self) -> Result<bool, Box<dyn Error>> {
        match self.run {
            Run::Bench(bench) => bench::run(&bench),
            Run::Crash(crash) => crash::run(&crash),
            Run::Fleet(fleet) => fleet::run(&fleet),
            Run::Hostile(attacks) => hostile::run(&attacks),
            Run::Watch(watch) => watch::run(&watch),
            Run::Member(member) => fleet::member(&member),
        }
    }
}

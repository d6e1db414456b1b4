//! The chores of `cargo xtask`.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::release::ReleaseOptions;
use crate::{
    against, checks, clients, dispatcher_contracts, formats, outages, release, replay_corpus, site,
    tidy, tune, vectors,
};
use xtask_workbench::Format;

/// The command line of the chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The chores of stagger", version)]
pub(crate) struct Chore {
    #[command(subcommand)]
    name: ChoreName,
}

#[derive(Debug, Subcommand)]
enum ChoreName {
    /// Style as a program: sizes, arrows, names, clock reads, dead files. Exit 1 on a finding.
    Tidy {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Writes the map of the files into ARCHITECTURE.md, from their own documentation.
    Map,
    /// Other projects' test vectors, and how many rows pass. Exit 1 on a failed row.
    Vectors {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// The settings files of other products: imported, listed, and exported. Exit 1 when something is dropped.
    Formats {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Measure costs: the engine, the library beside its peers, the dispatcher under load.
    #[command(disable_help_flag = true)]
    Bench(Passed),
    /// Kills the dispatcher under load, and counts what was lost. Exit 1 when anything was.
    #[command(disable_help_flag = true)]
    Crash(Passed),
    /// Many processes with one budget, through an outage, and without their store. Exit 1 when there
    /// were too many retries, or when a process did not find its store again.
    #[command(disable_help_flag = true)]
    Fleet(Passed),
    /// Attacks the dispatcher as one client or tenant, and measures what that costs another. Exit 1 when it is
    /// more than the goals.
    #[command(disable_help_flag = true)]
    Hostile(Passed),
    /// Plays retry storms and calm loads in the lab, and compares what `stagger watch` says of their logs with
    /// the truth. Exit 1 when storms are missed, late, or seen where there are none.
    #[command(disable_help_flag = true)]
    Watch(Passed),
    /// Check the promises of every integration over real sockets. Exit 1 on a failed or an empty cell.
    Contracts {
        /// Those of the webhook dispatcher instead, by the tests that show them. Exit 1 when one did not pass or was
        /// skipped.
        #[arg(long, conflicts_with = "write")]
        dispatcher: bool,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Writes the grid to docs/contracts.md when every cell is good.
        #[arg(long)]
        write: bool,
    },
    /// Every reference table of the storm lab with our figures beside theirs. Exit 1 when a cell is
    /// out of its tolerance. Some minutes.
    Golden {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Runs, in per cent of those of a full comparison
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        percent: u32,
        /// The tables to compare, as L1 or L9a; all when none is named
        tables: Vec<String>,
    },
    /// Replays 30 logs whose truth is known, and compares the answers about success without retries. Exit 1
    /// when fewer than 27 are within 0.05, or when another one gives a verdict that is not.
    Replay {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Searches policies for random worlds, and compares them with `stagger choose` and the defaults of AWS and
    /// Envoy. Exit 1 when a goal is missed. Some minutes.
    Tune {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Random models of load, capacity, service times and outages
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        worlds: u32,
        /// The seed of the models
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Plays callers and servers of the lab over real sockets at about 5 000 attempts a second, and compares
    /// their peaks with the lab's. Exit 1 when one is more than 10 % away. Two or three minutes.
    Against {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Lints the engine and its shell with each feature alone, and with none.
    Features,
    /// Writes the pages of docs/ as a site. Exit 1 on a page that is not in docs/SUMMARY.md, and on a
    /// link to nothing.
    Site {
        /// The folder of the site; target/site when none is given
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Writes the generated part of the client packages in clients/, from the dispatcher's OpenAPI document.
    Clients {
        /// Only compares it; exit 1 when it is not current
        #[arg(long)]
        check: bool,
    },
    /// Builds all that a release publishes, and publishes nothing. Exit 1 when a part cannot be built.
    Release(ReleaseOptions),
}

/// The arguments of a run of the harness, which reads them itself.
#[derive(Debug, Args)]
struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Chore {
    /// Does it; `Ok(false)` means that it was done and found something wrong.
    pub(crate) fn run(self) -> Result<bool, Box<dyn Error>> {
        match self.name {
            ChoreName::Tidy { format } => tidy::run(format),
            ChoreName::Map => tidy::write_map(),
            ChoreName::Vectors { format } => vectors::run(format),
            ChoreName::Formats { format } => formats::run(format),
            ChoreName::Bench(passed) => checks::harness("bench", &passed.arguments),
            ChoreName::Crash(passed) => checks::harness("crash", &passed.arguments),
            ChoreName::Fleet(passed) => checks::harness("fleet", &passed.arguments),
            ChoreName::Hostile(passed) => checks::harness("hostile", &passed.arguments),
            ChoreName::Watch(passed) => checks::harness("watch", &passed.arguments),
            ChoreName::Contracts { dispatcher: true, format, .. } => {
                dispatcher_contracts::run(format)
            }
            ChoreName::Contracts { format, write, .. } => checks::contracts(format, write),
            ChoreName::Golden { format, percent, tables } => {
                vectors::golden(format, percent, &tables, outages::compare)
            }
            ChoreName::Replay { format } => replay_corpus::run(format),
            ChoreName::Tune { format, worlds, seed } => tune::run(format, worlds, seed),
            ChoreName::Against { format } => against::run(format),
            ChoreName::Features => checks::features(),
            ChoreName::Site { out } => site::run(out),
            ChoreName::Clients { check } => clients::run(check),
            ChoreName::Release(options) => release::run(&options),
        }
    }
}

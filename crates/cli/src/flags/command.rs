//! The commands.

use clap::{Parser, Subcommand};

use super::{DemoFlags, ServeFlags, StoreFlags, StormFlags};

const STORM_EXAMPLES: &str = "\
Examples:
  stagger storm                                 1000 callers fail together: who comes back when?
  stagger storm --up-at 1s --law none,full      a longer outage, two laws
  stagger storm list                            every scenario that ships
  stagger storm L1 --format csv                 one of them by its table, for a spreadsheet
  stagger storm --law full --callers 1000000 --runs 1   a million callers, in a second";

const SERVE_EXAMPLES: &str = "\
Examples:
  stagger serve                                 on 127.0.0.1:8080, data in ./stagger-data
  stagger serve --config dispatcher.toml        settings from a file
  stagger serve --config dispatcher.toml --check    say what is wrong with it, and serve nothing
  stagger serve --allow-private                 for tests: endpoints may be on this machine";

const STORE_EXAMPLES: &str = "\
Examples:
  stagger store backup today.db                 a consistent copy, also while it is served
  stagger store restore today.db                put it back; nothing may be serving then
  stagger store check                           is the file sound, and how much is in it?";

const EXAMPLES: &str = "\
Examples:
  stagger demo                                  see an outage, with and without a stampede
  stagger storm                                 what retries do to a server that comes back
  stagger serve                                 deliver webhooks";

/// Retries that do not stampede.
#[derive(Debug, Parser)]
#[command(name = "stagger", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play an outage in virtual time and compare how retry laws load the server
    #[command(after_help = STORM_EXAMPLES)]
    Storm(Box<StormFlags>),
    /// Play an outage for real: the dispatcher, a receiver that fails, and what arrives there
    Demo(DemoFlags),
    /// Accept messages and deliver them as webhooks: durable, retried, never lost
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeFlags>),
    /// Back up, restore or check a dispatcher's store
    #[command(after_help = STORE_EXAMPLES)]
    Store(StoreFlags),
}

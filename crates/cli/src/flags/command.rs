//! The commands.

use clap::{Parser, Subcommand};

use super::{
    ChooseFlags, CompletionsFlags, DemoFlags, ExecFlags, ExplainFlags, HttpFlags, ImportFlags,
    LintFlags, ManFlags, ServeFlags, StoreFlags, StormFlags,
};

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  stagger explain --preset grpc --slo 2s        what this policy does to a call, and to a server";

const LINT_EXAMPLES: &str = "\
Examples:
  stagger lint policy.toml                      exit 1 on errors, for CI";

const CHOOSE_EXAMPLES: &str = "\
Examples:
  stagger choose                                questions on a terminal, a policy at the end";

const IMPORT_EXAMPLES: &str = "\
Examples:
  stagger import service-config.json            a policy of ours, and what could not be mapped";

const EXEC_EXAMPLES: &str = "\
Examples:
  stagger exec -- rsync -a data/ host:data/     retry a command";

const HTTP_EXAMPLES: &str = "\
Examples:
  stagger http https://example.com/             one request, every attempt explained";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  stagger completions bash                      to be sourced by the shell";

const MAN_EXAMPLES: &str = "\
Examples:
  stagger man --dir /usr/local/share/man/man1   one page a command";

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
  stagger serve --allow-private                 for tests: endpoints may be on this machine
  stagger serve --store 'postgres://me@db/webhooks?sslmode=require'   in a PostgreSQL database";

const STORE_EXAMPLES: &str = "\
Examples:
  stagger store backup today.db                 a consistent copy, also while it is served
  stagger store restore today.db                put it back; nothing may be serving then
  stagger store check                           is the file sound, and how much is in it?
  stagger store check --store postgres://me@db/webhooks     the same of a database
  stagger store migrate --store postgres://me@db/webhooks   bring it to this release's version
  stagger store copy --from stagger-data --to postgres://me@db/webhooks   move to a database";

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
    /// Say what a policy does before it ships: time line, worst case, load, findings
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Box<ExplainFlags>),
    /// Find what is wrong with the policies of a file: exit 1 on errors
    #[command(after_help = LINT_EXAMPLES)]
    Lint(Box<LintFlags>),
    /// Choose a policy by a few questions, with the reason for each line of it
    #[command(after_help = CHOOSE_EXAMPLES)]
    Choose(Box<ChooseFlags>),
    /// Turn the retry settings of gRPC, Envoy, resilience4j or Polly into a policy
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(Box<ImportFlags>),
    /// Retry a shell command under a policy
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(Box<ExecFlags>),
    /// Make one HTTP request under a policy, and show each attempt
    #[command(after_help = HTTP_EXAMPLES)]
    Http(Box<HttpFlags>),
    /// Play an outage in virtual time and compare how retry laws load the server
    #[command(after_help = STORM_EXAMPLES)]
    Storm(Box<StormFlags>),
    /// Play an outage for real: the dispatcher, a receiver that fails, and what arrives there
    Demo(DemoFlags),
    /// Accept messages and deliver them as webhooks: durable, retried, never lost
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeFlags>),
    /// Back up, restore, check, migrate or copy a dispatcher's store
    #[command(after_help = STORE_EXAMPLES)]
    Store(StoreFlags),
    /// Print a script that completes commands and flags
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsFlags),
    /// Write the manual pages
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManFlags),
}

//! The commands, and the flags of `stagger demo`.

use clap::{Args, Parser, Subcommand};

use super::{
    ChooseFlags, CompletionsFlags, ExecFlags, ExplainFlags, ExportFlags, HttpFlags, ImportFlags,
    LintFlags, ListenFlags, ManFlags, OperatorFlags, ProxyFlags, ServeFlags, StoreFlags,
    StormFlags, TuneFlags, WatchFlags, WebhooksFlags, completions, dispatcher, exec, http,
    new_policies, operator, policies, proxy, storm, tune, watch, webhooks,
};

const DEMO_EXAMPLES: &str = "\
Examples:
  stagger demo                                  half a minute, then a page until Ctrl-C
  stagger demo --once                           end with the figures";

const EXAMPLES: &str = "\
Examples:
  stagger demo                                  see an outage, with and without a stampede
  stagger storm                                 what retries do to a server that comes back
  stagger explain --preset webhook              what a policy does to a call, and to a server
  stagger exec --attempts 5 -- rsync -a data/ host:data/   retry a command
  stagger http https://example.com/             one request, every attempt explained
  stagger serve                                 deliver webhooks";

/// The flags of `stagger demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoFlags {
    /// End when everything is delivered, instead of keeping the page open until Ctrl-C
    #[arg(long)]
    pub(crate) once: bool,
}

/// Retries that do not stampede.
#[derive(Debug, Parser)]
#[command(name = "stagger", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play an outage for real: the dispatcher, a receiver that fails, what arrives
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoFlags),
    /// Play an outage in virtual time and compare how retry laws load the server
    #[command(after_help = storm::EXAMPLES)]
    Storm(Box<StormFlags>),
    /// Search the policy that serves an objective best in modelled outages
    #[command(after_help = tune::EXAMPLES)]
    Tune(Box<TuneFlags>),
    /// Watch a log or counters for retry storms: attempts a call, layers, peaks, sources
    #[command(after_help = watch::EXAMPLES)]
    Watch(Box<WatchFlags>),
    /// Say what a policy does before it ships: time line, worst case, load, findings
    #[command(after_help = policies::EXPLAIN_EXAMPLES)]
    Explain(Box<ExplainFlags>),
    /// Find what is wrong with the policies of a file: exit 1 on errors
    #[command(after_help = policies::LINT_EXAMPLES)]
    Lint(Box<LintFlags>),
    /// Choose a policy by a few questions, with the reason for each line of it
    #[command(after_help = new_policies::CHOOSE_EXAMPLES)]
    Choose(Box<ChooseFlags>),
    /// Turn the retry settings of Istio, Envoy, gRPC, resilience4j, Polly and others into policies
    #[command(after_help = new_policies::IMPORT_EXAMPLES)]
    Import(Box<ImportFlags>),
    /// Write policies as settings of Envoy, Istio, gRPC and others
    #[command(after_help = new_policies::EXPORT_EXAMPLES)]
    Export(Box<ExportFlags>),
    /// Retry a shell command under a policy
    #[command(after_help = exec::EXAMPLES)]
    Exec(Box<ExecFlags>),
    /// Make one HTTP request under a policy, and show each attempt
    #[command(after_help = http::EXAMPLES)]
    Http(Box<HttpFlags>),
    /// Make the calls of any program under a policy: an egress proxy on this machine
    #[command(after_help = proxy::EXAMPLES)]
    Proxy(ProxyFlags),
    /// Accept messages and deliver them as webhooks: durable, retried, never lost
    #[command(after_help = dispatcher::SERVE_EXAMPLES)]
    Serve(Box<ServeFlags>),
    /// Make, list, show, follow and replay what a running dispatcher has
    #[command(after_help = webhooks::EXAMPLES)]
    Webhooks(Box<WebhooksFlags>),
    /// Forward the deliveries of a dispatcher on this machine to a server under development
    #[command(after_help = webhooks::LISTEN_EXAMPLES)]
    Listen(Box<ListenFlags>),
    /// Back up, restore, check, migrate or copy a dispatcher's store
    #[command(after_help = dispatcher::STORE_EXAMPLES)]
    Store(StoreFlags),
    /// Add, remove or list the operators of a dispatcher, with their roles
    #[command(after_help = operator::EXAMPLES)]
    Operator(OperatorFlags),
    /// Print a script that completes commands and flags
    #[command(after_help = completions::EXAMPLES)]
    Completions(CompletionsFlags),
    /// Write the manual pages
    #[command(after_help = completions::MAN_EXAMPLES)]
    Man(ManFlags),
}

//! The commands.

use clap::{Parser, Subcommand};

use super::{
    ChooseFlags, CompletionsFlags, DemoFlags, ExecFlags, ExplainFlags, HttpFlags, ImportFlags,
    LintFlags, ManFlags, ServeFlags, StoreFlags, StormFlags,
};

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  stagger explain --preset grpc --slo 2s        exit 1: nothing bounds an attempt that hangs
  stagger explain policy.toml                   every policy of a file; policy.toml#NAME for one
  stagger explain --preset batch --format json  the same figures for a program
  stagger explain policy.toml --html page.html  and a page to show around
  stagger explain --preset webhook --rps 50 --fleet 40 --downstream-capacity 1000
                                                exit 1: the fleet's retries exceed what is served

Exit codes: 0 clean, or warnings only; 1 errors among the findings; 2 a flag or a file that is wrong.";

const LINT_EXAMPLES: &str = "\
Examples:
  stagger lint policy.toml                      exit 1 on errors, for CI
  stagger lint policies/*.toml --deny warnings  exit 1 on anything
  stagger lint policy.toml --slo 2s --rps 500 --fleet 40 --downstream-capacity 30000
                                                exit 1 on errors for such calls
  stagger choose --slo 2s --idempotent --format toml | stagger lint -

In the file, [calls.NAME] says what is known of the calls under [policy.NAME]:
  [calls.checkout]
  slo = \"2s\"
  idempotent = true
  allow = [\"no-budget\"]                          findings that are accepted

Exit codes: 0 clean, or warnings only; 1 errors; 2 a file that cannot be read or is wrong.";

const CHOOSE_EXAMPLES: &str = "\
Examples:
  stagger choose                                questions on a terminal, a policy at the end
  stagger choose --callers 5000 --idempotent --slo 2s --format toml | stagger lint -
  stagger choose --idempotent=key --background --rate-limited --format rust
  stagger choose --explain-only                 the decision tree";

const IMPORT_EXAMPLES: &str = "\
Examples:
  stagger import service-config.json            a policy of ours, and what could not be mapped
  stagger import application.yml > policy.toml  the policies of resilience4j's instances
  stagger import - --from envoy < route.yaml    from standard input, as Envoy's";

const EXEC_EXAMPLES: &str = "\
Examples:
  stagger exec -- rsync -a data/ host:data/     three attempts, the waits between them at random
  stagger exec --attempts 5 --attempt-timeout 30s --deadline 2m -- make fetch
  stagger exec --policy policy.toml#nightly --budget-file /run/lock/mirror.budget -- ./mirror
  stagger exec --output buffer -- bash -o pipefail -c 'curl -fsS https://example.com/ | jq .version'
Exit codes:
  that of the last attempt, unchanged; 128+N when signal N ended it or stagger; 124 out of time;
  126 and 127 not started; 125 stagger itself failed; 2 refused flags or files";

const HTTP_EXAMPLES: &str = "\
Examples:
  stagger http https://example.com/             every attempt: status, verdict, hint, delay
  stagger http -d @order.json --idempotency-key https://example.com/orders   a POST, retried
  stagger http -I -v --attempts 5 --base 1s https://example.com/   headers of each attempt
  stagger http --policy policy.toml#api -o page.html https://example.com/   under your own policy
  stagger http --format json https://example.com/   the same as JSON lines

Exit codes:
  0 a reply below 400    22 a reply of 400 or more    2 wrong flags or files    130 Ctrl-C
  6 name not known    7 no connection    18 reply broke off    23 body not written
  28 out of time    56 anything else below HTTP";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  stagger completions bash > ~/.local/share/bash-completion/completions/stagger
  stagger completions zsh > ~/.zfunc/_stagger   with ~/.zfunc in fpath
  stagger completions fish > ~/.config/fish/completions/stagger.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  stagger man --dir /usr/local/share/man/man1   one page a command
  stagger man | man -l -                        read the first one at once";

const STORM_EXAMPLES: &str = "\
Examples:
  stagger storm                                 1000 callers fail together: who comes back when?
  stagger storm --up-at 1s --law none,full      a longer outage, two laws
  stagger storm list                            every scenario that ships
  stagger storm L1 --format csv                 one of them by its table, for a spreadsheet
  stagger storm --law full --callers 1000000 --runs 1   a million callers, in a second";

const DEMO_EXAMPLES: &str = "\
Examples:
  stagger demo                                  half a minute, then a page until Ctrl-C
  stagger demo --once                           end with the figures";

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
  stagger explain --preset webhook              what a policy does to a call, and to a server
  stagger exec --attempts 5 -- rsync -a data/ host:data/   retry a command
  stagger http https://example.com/             one request, every attempt explained
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
    /// Play an outage for real: the dispatcher, a receiver that fails, what arrives
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoFlags),
    /// Play an outage in virtual time and compare how retry laws load the server
    #[command(after_help = STORM_EXAMPLES)]
    Storm(Box<StormFlags>),
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

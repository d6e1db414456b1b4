//! The flags of the proxy. All else is in its file, which is read again while it runs.

use std::path::PathBuf;

use clap::Args;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger proxy --config routes.toml            serve its routes until Ctrl-C
  stagger proxy --config routes.toml --check    say what is wrong with it, and serve nothing

A file of routes:
  [route.payments]
  path = \"/payments/\"
  upstream = \"https://payments.example\"
  policy = { limits = { max_attempts = 3, deadline = \"10s\" } }
  retry = { idempotency_key = true }";

/// The flags of `stagger proxy`.
#[derive(Debug, Args)]
pub(crate) struct ProxyFlags {
    /// The file of listeners, limits, policies and routes; SIGHUP has it read again
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,

    /// Check the file and those that it names, say what is wrong, and serve nothing
    #[arg(long)]
    pub(crate) check: bool,

    /// Share budgets of retries with all proxies that name the same Redis (redis://, rediss:// or unix://)
    #[arg(long, value_name = "URL")]
    pub(crate) redis: Option<String>,

    /// The expected number of these proxies: without Redis each has this part of a budget
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) redis_processes: u32,

    /// Write the log as one JSON object a line
    #[arg(long)]
    pub(crate) log_json: bool,
}

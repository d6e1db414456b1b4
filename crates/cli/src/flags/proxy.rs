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

/// The flags of `stagger proxy`; they win over the environment (`STAGGER_REDIS`, ...), which wins over the file.
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
    redis: Option<String>,

    /// The file with this URL, so that its password is in no list of processes
    #[arg(long, value_name = "FILE")]
    redis_file: Option<String>,

    /// The expected number of these proxies: without Redis each has this part of a budget [1]
    #[arg(long, value_name = "N")]
    redis_processes: Option<String>,

    /// The receiver of traces and metrics: OTLP over HTTP, in a build with the feature otel [nowhere]
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,

    /// Write the log as one JSON object a line
    #[arg(long)]
    pub(crate) log_json: bool,
}

impl ProxyFlags {
    /// The settings that were given, by the keys of the file.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let valued = [
            ("redis", &self.redis),
            ("redis_file", &self.redis_file),
            ("redis_processes", &self.redis_processes),
            ("otlp", &self.otlp),
        ];
        valued.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }
}

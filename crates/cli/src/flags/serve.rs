//! The flags of `stagger serve`: one for each setting. What a value may be is checked where the file
//! and the environment are checked, so that all three are refused in the same words.

use std::path::PathBuf;

use clap::Args;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger serve                                 on 127.0.0.1:8080, data in ./stagger-data
  stagger serve --config dispatcher.toml        settings from a file
  stagger serve --config dispatcher.toml --check    say what is wrong with it, and serve nothing
  stagger serve --allow-private                 for tests: endpoints may be on this machine
  stagger serve --store 'postgres://me@db/webhooks?sslmode=require'   in a PostgreSQL database";

/// The flags of `stagger serve`; they win over the environment (`STAGGER_LISTEN`, ...), which wins over
/// the file.
#[derive(Debug, Default, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
pub(crate) struct ServeFlags {
    /// A TOML file with these same settings, `-` in their names written `_`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Check the settings, say what is wrong, and serve nothing
    #[arg(long)]
    pub(crate) check: bool,

    /// The address to listen on; port 0 takes a free one [127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// The folder of the store and of the admin key [stagger-data]
    #[arg(long, value_name = "FOLDER")]
    data: Option<String>,

    /// The store of everything: embedded, memory, or postgres://user@host/database [embedded]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,

    /// Bring a database of an earlier release to this one's version
    #[arg(long)]
    migrate: bool,

    /// Keep everything in memory: at the end it is gone
    #[arg(long, conflicts_with = "store")]
    memory: bool,

    /// The key that may do everything [made, and kept in FOLDER/admin.key; with --memory made for
    /// this run and printed]
    #[arg(long, value_name = "KEY")]
    admin_key: Option<String>,

    /// Let endpoints have private and loopback addresses, for tests
    #[arg(long)]
    allow_private: bool,

    /// Ports that endpoints may have, with commas between them [80,443,8443]
    #[arg(long, value_name = "PORTS")]
    ports: Option<String>,

    /// Certificates (PEM) to trust besides the usual ones
    #[arg(long, value_name = "FILE")]
    roots: Option<String>,

    /// Attempts under way at once, of all endpoints together [1024]
    #[arg(long, value_name = "N")]
    slots: Option<String>,

    /// Open deliveries at which no more messages are accepted [5000000]
    #[arg(long, value_name = "N")]
    max_open: Option<String>,

    /// Memory for payloads that are about to be sent [64MiB]
    #[arg(long, value_name = "SIZE")]
    payload_memory: Option<String>,

    /// The time for which finished messages are kept [30d]
    #[arg(long, value_name = "TIME")]
    retention: Option<String>,

    /// With PostgreSQL: within which time a node that died is replaced by the others [10s]
    #[arg(long, value_name = "TIME")]
    lease: Option<String>,

    /// Redis or Valkey in which retries to one destination have one budget with all who use it [nowhere]
    #[arg(long, value_name = "URL")]
    redis: Option<String>,

    /// The share of first attempts that this budget allows as retries [20%]
    #[arg(long, value_name = "PERCENT")]
    redis_budget: Option<String>,

    /// Processes that share it: while it is away each has its share [1]
    #[arg(long, value_name = "N")]
    redis_processes: Option<String>,

    /// The longest wait of a shutdown for attempts under way [30s]
    #[arg(long, value_name = "TIME")]
    grace: Option<String>,

    /// Requests a second that one application may make [no bound]
    #[arg(long, value_name = "N")]
    rate: Option<String>,

    /// The largest request body [1MiB]
    #[arg(long, value_name = "SIZE")]
    max_body: Option<String>,

    /// The largest payload [256KiB]
    #[arg(long, value_name = "SIZE")]
    max_payload: Option<String>,

    /// The form of the logs: text or json [text]
    #[arg(long, value_name = "FORM")]
    log: Option<String>,

    /// The receiver of traces: OTLP over HTTP [nowhere]
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl ServeFlags {
    /// The settings that were given, by the keys of the file.
    pub(crate) fn given(&self) -> Vec<(&'static str, &str)> {
        let valued = [
            ("listen", &self.listen),
            ("data", &self.data),
            ("store", &self.store),
            ("admin_key", &self.admin_key),
            ("ports", &self.ports),
            ("roots", &self.roots),
            ("slots", &self.slots),
            ("max_open", &self.max_open),
            ("payload_memory", &self.payload_memory),
            ("retention", &self.retention),
            ("lease", &self.lease),
            ("redis", &self.redis),
            ("redis_budget", &self.redis_budget),
            ("redis_processes", &self.redis_processes),
            ("grace", &self.grace),
            ("rate", &self.rate),
            ("max_body", &self.max_body),
            ("max_payload", &self.max_payload),
            ("log", &self.log),
            ("otlp", &self.otlp),
        ];
        let switched = [
            ("store", "memory", self.memory),
            ("migrate", "true", self.migrate),
            ("allow_private", "true", self.allow_private),
        ];
        let valued = valued.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
        let switched = switched.into_iter().filter(|(.., on)| *on).map(|(key, to, _)| (key, to));
        valued.chain(switched).collect()
    }
}

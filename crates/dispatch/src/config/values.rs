//! The settings, with their defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;

use stagger::{Ratio, Span};

use super::admin_key::AdminKey;
use super::redis_url::RedisUrl;
use crate::node::NodeOptions;
use crate::observe::LogFormat;
use crate::store::PostgresAddress;

/// Everything that can be set of a dispatcher.
///
/// ```
/// use stagger_dispatch::config::Config;
/// let mut config = Config::default();
/// config.apply_text("dispatcher.toml", "listen = '127.0.0.1:9000'\nretention = '7d'")?;
/// config.apply_pairs("--", [("listen", "127.0.0.1:9001")])?;
/// assert_eq!(config.listen.port(), 9001);
/// # Ok::<(), stagger_dispatch::config::ConfigFault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// The address of the API and of the operator's page: default 127.0.0.1:8080.
    pub listen: SocketAddr,
    /// The folder of the embedded store: default `stagger-data`.
    pub data: PathBuf,
    /// The durable store: default the embedded one.
    pub store: StoreKind,
    /// Whether a database of an earlier release is brought to this one's version at the start: default
    /// no. The embedded store always is.
    pub migrate: bool,
    /// The key that may do everything. Left out, one is made and kept in the data folder; with a store in
    /// memory it is kept nowhere and shown once, at the start.
    pub admin_key: Option<AdminKey>,
    /// Whether endpoints may have private and loopback addresses: default no.
    pub allow_private: bool,
    /// Ports that endpoints may have: default 80, 443 and 8443, or all with `allow_private`.
    pub ports: Vec<u16>,
    /// A file of certificates (PEM) to trust besides the usual ones.
    pub roots: Option<PathBuf>,
    /// The bounds of the node.
    pub node: NodeOptions,
    /// Redis or Valkey, in which retries to one destination have one budget with all processes that use it:
    /// default nowhere.
    pub redis: Option<RedisUrl>,
    /// The shared budget, as a share of first attempts: default 20 %.
    pub redis_budget: Ratio,
    /// The number of processes that share it: while Redis does not answer, each has its share.
    /// Default 1.
    pub redis_processes: NonZeroU32,
    /// The time for which a shutdown waits for attempts in flight: default 30 s.
    pub grace: Span,
    /// Requests a second that one application's keys may make: default no bound.
    pub rate: Option<NonZeroU32>,
    /// The largest request body, in bytes: default 1 MiB.
    pub max_body: usize,
    /// The largest payload, in bytes: default 256 KiB.
    pub max_payload: usize,
    /// The format of log lines: default text.
    pub log: LogFormat,
    /// The collector of traces (OTLP over HTTP): default none.
    pub otlp: Option<String>,
}

/// The stores there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// SQLite in the data folder.
    Embedded,
    /// In memory: everything is gone at the end.
    Memory,
    /// A PostgreSQL database.
    Postgres(Box<PostgresAddress>),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            data: PathBuf::from("stagger-data"),
            store: StoreKind::Embedded,
            migrate: false,
            admin_key: None,
            allow_private: false,
            ports: Vec::new(),
            roots: None,
            node: NodeOptions::default(),
            redis: None,
            redis_budget: Ratio::from_percent(20),
            redis_processes: NonZeroU32::MIN,
            grace: Span::from_secs(30),
            rate: None,
            max_body: 1 << 20,
            max_payload: 256 << 10,
            log: LogFormat::default(),
            otlp: None,
        }
    }
}

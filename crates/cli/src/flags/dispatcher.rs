//! The flags of the dispatcher: `serve`, one for each setting, and `store`. What a value may be is checked where the file
//! is checked too.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The end of its help.
pub(super) const SERVE_EXAMPLES: &str = "\
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

    /// The address under which clients reach it, such as https://hooks.example: with https the page's cookie
    /// travels over TLS only [http://ADDRESS]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

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

    /// The file with the keys that encrypt secrets in the store, a line each, the writing one first
    /// [none: not encrypted]
    #[arg(long, value_name = "FILE")]
    encryption_key_file: Option<String>,

    /// The command of the shell that prints these lines instead [none]
    #[arg(long, value_name = "CMD")]
    encryption_key_command: Option<String>,

    /// The operators, with their roles and the hashes of their keys; stagger operator writes it [FOLDER/operators.toml;
    /// with --memory none]
    #[arg(long, value_name = "FILE")]
    operators_file: Option<String>,

    /// The OpenID Connect provider at which operators sign in to the page, in a build with the feature oidc [none]
    #[arg(long, value_name = "URL")]
    oidc_issuer: Option<String>,

    /// The name of this dispatcher at the provider
    #[arg(long, value_name = "ID")]
    oidc_client_id: Option<String>,

    /// The file with the secret that the provider made for it [none]
    #[arg(long, value_name = "FILE")]
    oidc_client_secret_file: Option<String>,

    /// The scopes to ask for besides openid [profile email]
    #[arg(long, value_name = "SCOPES")]
    oidc_scopes: Option<String>,

    /// The claim of the ID token with the groups of a person [groups]
    #[arg(long, value_name = "CLAIM")]
    oidc_role_claim: Option<String>,

    /// The roles of groups, such as on-call=operator,staff=viewer
    #[arg(long, value_name = "ROLES")]
    oidc_roles: Option<String>,

    /// The title of the portal [Webhooks]
    #[arg(long, value_name = "TEXT")]
    portal_title: Option<String>,

    /// The address of a picture beside the title of the portal [none]
    #[arg(long, value_name = "URL")]
    portal_logo_url: Option<String>,

    /// The colour of links and main buttons of the portal, such as #0a66c2
    #[arg(long, value_name = "COLOUR")]
    portal_accent: Option<String>,

    /// Origins whose pages may show the portal in a frame, with commas between them [none]
    #[arg(long, value_name = "LIST")]
    portal_frame_ancestors: Option<String>,

    /// Let endpoints have private and loopback addresses, for tests
    #[arg(long)]
    allow_private: bool,

    /// Let applications set brokers as the destinations of their endpoints
    #[arg(long)]
    tenant_destinations: bool,

    /// Ports that endpoints may have, with commas between them [80,443,8443]
    #[arg(long, value_name = "PORTS")]
    ports: Option<String>,

    /// Name servers to ask, with commas between them [those of /etc/resolv.conf]
    #[arg(long, value_name = "ADDRESSES")]
    name_servers: Option<String>,

    /// Certificates (PEM) to trust besides the usual ones
    #[arg(long, value_name = "FILE")]
    roots: Option<String>,

    /// The proxy through which everything is sent: http://, https:// or socks5:// with host and port, and a name and a
    /// password where it wants them [none]
    #[arg(long, value_name = "URL")]
    egress_proxy: Option<String>,

    /// The file with name:password of the proxy, so that they do not stand in its URL [none]
    #[arg(long, value_name = "FILE")]
    egress_proxy_auth_file: Option<String>,

    /// Attempts under way at once, of all endpoints together [1024]
    #[arg(long, value_name = "N")]
    slots: Option<String>,

    /// Open deliveries at which no more messages are accepted [5000000]
    #[arg(long, value_name = "N")]
    max_open: Option<String>,

    /// Open deliveries of one application at which no more of its messages are accepted [a quarter of max-open]
    #[arg(long, value_name = "N")]
    app_max_open: Option<String>,

    /// Memory for payloads that are about to be sent [64MiB]
    #[arg(long, value_name = "SIZE")]
    payload_memory: Option<String>,

    /// The time for which finished messages are kept [30d]
    #[arg(long, value_name = "TIME")]
    retention: Option<String>,

    /// The application whose endpoints are told what happens to the others [none]
    #[arg(long, value_name = "APPLICATION")]
    operational_events: Option<String>,

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

    /// Connections of clients that are open at one time [4096]
    #[arg(long, value_name = "N")]
    connections: Option<String>,

    /// Requests a second that one application may make [no bound]
    #[arg(long, value_name = "N")]
    rate: Option<String>,

    /// The largest request body [1MiB]
    #[arg(long, value_name = "SIZE")]
    max_body: Option<String>,

    /// The largest payload [256KiB]
    #[arg(long, value_name = "SIZE")]
    max_payload: Option<String>,

    /// The checks of messages against the catalogue of event types: off, known or schema [off]
    #[arg(long, value_name = "CHECKS")]
    event_validation: Option<String>,

    /// The form of the logs: text or json [text]
    #[arg(long, value_name = "FORM")]
    log: Option<String>,

    /// The collector of traces and metrics: OTLP over HTTP, in a build with the feature otel [nowhere]
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl ServeFlags {
    /// The settings that were given, by the keys of the file.
    pub(crate) fn given(&self) -> Vec<(&'static str, &str)> {
        let valued = [
            ("listen", &self.listen),
            ("public_url", &self.public_url),
            ("data", &self.data),
            ("store", &self.store),
            ("admin_key", &self.admin_key),
            ("encryption_key_file", &self.encryption_key_file),
            ("encryption_key_command", &self.encryption_key_command),
            ("operators_file", &self.operators_file),
            ("oidc_issuer", &self.oidc_issuer),
            ("oidc_client_id", &self.oidc_client_id),
            ("oidc_client_secret_file", &self.oidc_client_secret_file),
            ("oidc_scopes", &self.oidc_scopes),
            ("oidc_role_claim", &self.oidc_role_claim),
            ("oidc_roles", &self.oidc_roles),
            ("portal_title", &self.portal_title),
            ("portal_logo_url", &self.portal_logo_url),
            ("portal_accent", &self.portal_accent),
            ("portal_frame_ancestors", &self.portal_frame_ancestors),
            ("ports", &self.ports),
            ("name_servers", &self.name_servers),
            ("roots", &self.roots),
            ("egress_proxy", &self.egress_proxy),
            ("egress_proxy_auth_file", &self.egress_proxy_auth_file),
            ("slots", &self.slots),
            ("max_open", &self.max_open),
            ("app_max_open", &self.app_max_open),
            ("payload_memory", &self.payload_memory),
            ("retention", &self.retention),
            ("operational_events", &self.operational_events),
            ("lease", &self.lease),
            ("redis", &self.redis),
            ("redis_budget", &self.redis_budget),
            ("redis_processes", &self.redis_processes),
            ("grace", &self.grace),
            ("connections", &self.connections),
            ("rate", &self.rate),
            ("max_body", &self.max_body),
            ("max_payload", &self.max_payload),
            ("event_validation", &self.event_validation),
            ("log", &self.log),
            ("otlp", &self.otlp),
        ];
        let switched = [
            ("store", "memory", self.memory),
            ("migrate", "true", self.migrate),
            ("allow_private", "true", self.allow_private),
            ("tenant_destinations", "true", self.tenant_destinations),
        ];
        let valued = valued.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
        let switched = switched.into_iter().filter(|(.., on)| *on).map(|(key, to, _)| (key, to));
        valued.chain(switched).collect()
    }
}

/// The end of its help.
pub(super) const STORE_EXAMPLES: &str = "\
Examples:
  stagger store backup today.db                 a consistent copy, also while it is served
  stagger store restore today.db                put it back; nothing may be serving then
  stagger store check                           is the file sound, and how much is in it?
  stagger store check --store postgres://me@db/webhooks     the same of a database
  stagger store migrate --store postgres://me@db/webhooks   bring it to this release's version
  stagger store copy --from stagger-data --to postgres://me@db/webhooks   move to a database";

/// A store, and the command for it.
#[derive(Debug, Args)]
pub(crate) struct StoreFlags {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,

    /// The folder of the store
    #[arg(long, value_name = "FOLDER", default_value = "stagger-data", global = true)]
    pub(crate) data: PathBuf,

    /// The PostgreSQL database that is the store, instead of a folder: postgres://...
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy the store into a file; it may be in use meanwhile
    #[command(after_help = "Examples:\n  stagger store backup today.db")]
    Backup {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Put a backup in the store's place, while no dispatcher uses it
    #[command(after_help = "Examples:\n  stagger store restore today.db --data other-data")]
    Restore {
        /// The file that `backup` wrote
        file: PathBuf,
    },
    /// Check that the store is sound, and count what is in it
    #[command(after_help = "Examples:\n  stagger store check --data stagger-data")]
    Check,
    /// Bring the store to this release's version; an empty database gets its tables
    #[command(after_help = "Examples:\n  stagger store migrate --store postgres://me@db/webhooks")]
    Migrate,
    /// Copy everything into another store, which is empty, while no dispatcher uses either
    #[command(
        after_help = "Examples:\n  stagger store copy --from stagger-data --to postgres://me@db/webhooks"
    )]
    Copy {
        /// The store that is copied: a folder or postgres://...
        #[arg(long, value_name = "STORE")]
        from: String,
        /// The store that is filled: a folder or postgres://...
        #[arg(long, value_name = "STORE")]
        to: String,
    },
}

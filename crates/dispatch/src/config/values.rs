//! The values of the settings: the kind of store, addresses, Redis, and the admin key, given or made once
//! and kept in the data folder.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs, io};

use stagger::{Ratio, Span};
use stagger_scheduler::model::KeyHash;
use stagger_sender::EgressProxy;
use stagger_store::PostgresAddress;
use url::Url;

use super::{EncryptionSettings, OidcSettings, PortalSettings, SourceSettings};
use crate::Error;
use crate::node::NodeOptions;
use crate::observe::LogFormat;
use crate::random::os_bytes;

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
    /// The origin under which clients reach it, such as `https://hooks.example`: default the address on
    /// which it listens. With `https` the cookie of the operator's page travels over TLS only, and
    /// browsers are told to use nothing else (HSTS).
    pub public_url: Option<String>,
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
    /// The keys with which secrets are encrypted in the store: default none.
    pub encryption: EncryptionSettings,
    /// The file of operators, with their roles and the hashes of their keys, which a running dispatcher
    /// follows: default `operators.toml` in the data folder; with a store in memory none.
    pub operators_file: Option<PathBuf>,
    /// The identity provider at which operators sign in to the page: default none.
    pub oidc: OidcSettings,
    /// The look of the portal, and the pages that may show it in a frame.
    pub portal: PortalSettings,
    /// Whether endpoints may have private and loopback addresses: default no.
    pub allow_private: bool,
    /// Ports that endpoints may have: default 80, 443 and 8443, or all with `allow_private`.
    pub ports: Vec<u16>,
    /// The name servers to ask for endpoints' names: default those of `/etc/resolv.conf`.
    pub name_servers: Vec<SocketAddr>,
    /// A file of certificates (PEM) to trust besides the usual ones.
    pub roots: Option<PathBuf>,
    /// The proxy through which everything is sent, deliveries and requests for access tokens: default none.
    pub egress_proxy: Option<EgressProxy>,
    /// The file with its name and password, `name:password`, in place of those of its URL: default none.
    pub egress_proxy_auth_file: Option<PathBuf>,
    /// The sources of messages, tables `[[source]]` of the file: default none.
    pub sources: Vec<SourceSettings>,
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
    /// Connections of clients that are open at one time: default 4096. With all of them taken, the client
    /// that has kept the node waiting for the longest time loses its own.
    pub connections: NonZeroU32,
    /// Requests a second that one application's keys may make: default no bound.
    pub rate: Option<NonZeroU32>,
    /// The largest request body, in bytes: default 1 MiB.
    pub max_body: usize,
    /// The largest payload, in bytes: default 256 KiB.
    pub max_payload: usize,
    /// The format of log lines: default text.
    pub log: LogFormat,
    /// The collector of traces, and of metrics beside them (OTLP over HTTP): default none.
    pub otlp: Option<String>,
}

/// Connections of clients by default: each takes a descriptor and at most 64 KiB of buffers.
const DEFAULT_CONNECTIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);

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
            public_url: None,
            data: PathBuf::from("stagger-data"),
            store: StoreKind::Embedded,
            migrate: false,
            admin_key: None,
            encryption: EncryptionSettings::default(),
            operators_file: None,
            oidc: OidcSettings::default(),
            portal: PortalSettings::default(),
            allow_private: false,
            ports: Vec::new(),
            name_servers: Vec::new(),
            roots: None,
            egress_proxy: None,
            egress_proxy_auth_file: None,
            sources: Vec::new(),
            node: NodeOptions::default(),
            redis: None,
            redis_budget: Ratio::from_percent(20),
            redis_processes: NonZeroU32::MIN,
            grace: Span::from_secs(30),
            connections: DEFAULT_CONNECTIONS,
            rate: None,
            max_body: 1 << 20,
            max_payload: 256 << 10,
            log: LogFormat::default(),
            otlp: None,
        }
    }
}

/// The schemes that the library takes.
const SCHEMES: [&str; 6] = ["redis", "rediss", "unix", "redis+unix", "valkey", "valkeys"];

/// The URL of a Redis or Valkey. Shown without the parts that may be secret.
///
/// ```
/// use stagger_dispatch::config::RedisUrl;
/// let url: RedisUrl = "rediss://me:hunter2@10.0.0.7:6380/1".parse().expect("a known scheme");
/// assert_eq!(format!("{url:?}"), "RedisUrl(rediss://..)");
/// assert!("http://10.0.0.7".parse::<RedisUrl>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl(String);

/// A text that is no such URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRedisUrl;

impl RedisUrl {
    /// All of it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn scheme(text: &str) -> Option<&'static str> {
        let url = Url::parse(text).ok()?;
        SCHEMES.into_iter().find(|scheme| *scheme == url.scheme())
    }
}

impl FromStr for RedisUrl {
    type Err = NoRedisUrl;

    /// The rest is looked at when it is dialled.
    fn from_str(text: &str) -> Result<Self, NoRedisUrl> {
        Self::scheme(text).map(|_| Self(text.to_owned())).ok_or(NoRedisUrl)
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({}://..)", Self::scheme(&self.0).unwrap_or_default())
    }
}

impl fmt::Display for NoRedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no address of a Redis or Valkey")
    }
}

impl std::error::Error for NoRedisUrl {}

/// The file of a key that was made, within the data folder.
const FILE: &str = "admin.key";

/// Random bytes of a key that is made.
const BYTES: usize = 32;

/// The admin's key. Its `Debug` does not show it.
#[derive(Clone)]
pub struct AdminKey {
    key: String,
    source: AdminKeySource,
}

#[derive(Clone, Debug)]
enum AdminKeySource {
    Given,
    /// Made for this process, and in its memory only.
    Made,
    Kept(PathBuf),
}

impl AdminKey {
    /// A given key.
    #[must_use]
    pub fn given(key: String) -> Self {
        Self { key, source: AdminKeySource::Given }
    }

    /// A new key that is kept nowhere.
    ///
    /// # Errors
    /// The system has no random bytes to give.
    pub fn made() -> Result<Self, Error> {
        Ok(Self { key: random()?, source: AdminKeySource::Made })
    }

    /// The key in the folder `data`, which is made, folder and key, if there is none. Only its owner can
    /// read the file.
    ///
    /// # Errors
    /// The file cannot be read or written; its key is too short.
    pub fn kept_in(data: &Path) -> Result<Self, Error> {
        let file = data.join(FILE);
        let failed = |error: io::Error| Error::store(format!("{}: {error}", file.display()));
        make_folder(data).map_err(failed)?;
        match fs::read_to_string(&file) {
            Ok(text) if !is_long_enough(text.trim()) => Err(Error::invalid(
                "admin_key",
                file.display(),
                "a file with a key of at least 16 visible ASCII characters; delete it to have one made",
            )),
            Ok(text) => {
                Ok(Self { key: text.trim().to_owned(), source: AdminKeySource::Kept(file) })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let key = random()?;
                write(&file, &key).map_err(failed)?;
                Ok(Self { key, source: AdminKeySource::Kept(file) })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The hash against which requests are checked.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.key)
    }

    /// The key itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.key
    }

    /// The file that holds it, if one does.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            AdminKeySource::Kept(file) => Some(file),
            AdminKeySource::Given | AdminKeySource::Made => None,
        }
    }

    /// The key itself if it was made and is kept in no file: unless it is shown at the start, no caller
    /// can ever have it.
    #[must_use]
    pub fn made_for_this_run(&self) -> Option<&str> {
        matches!(self.source, AdminKeySource::Made).then_some(self.key.as_str())
    }
}

impl fmt::Debug for AdminKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminKey").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Shortest admin key: below it a key can be guessed.
const MIN_KEY: usize = 16;

/// Whether a text can be the admin's key.
pub(super) fn is_long_enough(key: &str) -> bool {
    key.len() >= MIN_KEY && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A new folder is its owner's alone: everything of all tenants is in it.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn random() -> Result<String, Error> {
    let bytes: [u8; BYTES] = os_bytes()?;
    Ok(bytes.iter().fold(String::from("admin_"), |text, byte| text + &format!("{byte:02x}")))
}

/// Written whole or not at all: a reader never sees half a key.
fn write(file: &Path, key: &str) -> io::Result<()> {
    let draft = file.with_extension("key.draft");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(&draft)?;
    writeln!(open, "{key}")?;
    open.sync_all()?;
    fs::rename(&draft, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_made_and_kept_nowhere_could_not_be_learned() {
        let made = AdminKey::made().expect("the system has randomness");
        assert_eq!((made.made_for_this_run(), made.file()), (Some(made.reveal()), None));
        assert!(!format!("{made:?}").contains(made.reveal()));
        let given = AdminKey::given("a key of sixteen or more".to_owned());
        assert_eq!((given.made_for_this_run(), given.file()), (None, None));
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_can_read_it() {
        let folder = std::env::temp_dir().join(format!("stagger-admin-key-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let made = AdminKey::kept_in(&folder).expect("writable");
        let read = AdminKey::kept_in(&folder).expect("readable");
        assert_eq!(made.reveal(), read.reveal());
        assert!(!format!("{made:?}").contains(made.reveal()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode =
                fs::metadata(made.file().expect("kept")).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let mode = fs::metadata(&folder).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "others could look into it");
        }
        for guessable in ["\n", "a\n", "fifteen_letters\n"] {
            fs::write(made.file().expect("kept"), guessable).expect("writable");
            assert!(AdminKey::kept_in(&folder).is_err_and(|error| error.is_invalid()));
        }
        fs::remove_dir_all(&folder).expect("ours");
    }
}

//! The store of a fleet's budgets: the setting that names it, and the number of proxies that share it.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use stagger_redis::SharedStore;
use stagger_text::settings::{Flaw, Reader, Value};
use toml::de::DeValue;

use super::fault::SettingsFault;
use super::headers::secret_text;

/// The most proxies that may be expected: each one's part of a budget without the store would be nothing.
pub(super) const MAX_PROCESSES: u32 = 10_000;

/// The bound on the URL of a store, for messages. The URL itself is in none, because it may have a password.
pub(super) const STORE_URL: &str =
    "redis://user:password@host:port/database, rediss:// with TLS, or unix:///path";

/// The budgets that a fleet of proxies shares in Redis or Valkey. By default each proxy has its own.
///
/// ```
/// use stagger_proxy::config::ProxySettings;
/// let text = "
///     [fleet]
///     redis = 'redis://proxy:secret@10.0.0.7'
///     redis_processes = 3
///     [route.a]
///     upstream = 'https://a.example'";
/// let mut settings = ProxySettings::parse("routes.toml", text)?;
/// settings.apply_pairs("--", [("redis_processes", "4")])?;
/// assert_eq!(settings.fleet.processes(), 4);
/// assert!(!format!("{settings:?}").contains("secret"));
/// # Ok::<(), stagger_proxy::config::SettingsFault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSettings {
    store: Option<StoreSetting>,
    processes: u32,
    shares_breakers: bool,
}

/// The setting that names the store.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StoreSetting {
    /// The key, the variable or the flag, for messages.
    origin: String,
    source: StoreSource,
}

/// The URL of a store, or the file that holds it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum StoreSource {
    Url(String),
    File(PathBuf),
}

impl Default for FleetSettings {
    fn default() -> Self {
        Self { store: None, processes: 1, shares_breakers: false }
    }
}

impl FleetSettings {
    /// The expected number of proxies, from 1 to 10 000: without the store each has this part of a budget. Default: 1.
    #[must_use]
    pub const fn processes(&self) -> u32 {
        self.processes
    }

    /// Whether budgets are shared.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.store.is_some()
    }

    /// Whether a breaker that opens in one proxy opens in all of them. Default: no, because one proxy with a broken
    /// network would then keep all of them from their servers.
    #[must_use]
    pub const fn shares_breakers(&self) -> bool {
        self.shares_breakers
    }

    /// The URL of the store, which a file is read for now, and the setting that it comes from.
    ///
    /// # Errors
    /// A file that cannot be read or holds no such URL. Its text is not shown.
    pub(crate) fn store(&self) -> Result<Option<(&str, String)>, SettingsFault> {
        let Some(StoreSetting { origin, source }) = &self.store else { return Ok(None) };
        let url = source.url().map_err(|why| SettingsFault::new(format!("{origin} = {why}")))?;
        Ok(Some((origin, url)))
    }

    /// Reads `[fleet]`.
    pub(super) fn read(table: &Reader<'_, '_>, folder: &Path) -> Result<Self, Flaw> {
        let url = table.value("redis").map(|value| url(&table.name("redis"), value)).transpose()?;
        let file = table.text("redis_file")?;
        let file = file.map(|file| ("redis_file", StoreSource::File(folder.join(file))));
        let processes = table.count("redis_processes", (1, MAX_PROCESSES))?;
        let shares_breakers = table.boolean("shared_breakers")?.unwrap_or_default();
        table.done()?;
        let mut fleet = Self { shares_breakers, ..Self::default() };
        fleet.expect(processes.unwrap_or(1));
        let mut given = [url.map(|url| ("redis", url)), file].into_iter().flatten();
        match (given.next(), given.next()) {
            (Some((key, source)), None) => fleet.share(table.name(key), source),
            (None, _) => {}
            _ => return Err(table.flaw("must have one of redis and redis_file")),
        }
        Ok(fleet)
    }

    /// Takes another store, in place of that of a setting which is overridden.
    pub(super) fn share(&mut self, origin: String, source: StoreSource) {
        self.store = Some(StoreSetting { origin, source });
    }

    /// Takes another number of proxies, which is within its bounds.
    pub(super) const fn expect(&mut self, processes: u32) {
        self.processes = processes;
    }
}

impl StoreSource {
    /// This URL; `None` if it names no store.
    pub(super) fn of_url(url: &str) -> Option<Self> {
        SharedStore::check(url).is_ok().then(|| Self::Url(url.to_owned()))
    }

    fn url(&self) -> Result<String, String> {
        let path = match self {
            Self::Url(url) => return Ok(url.clone()),
            Self::File(path) => path,
        };
        let shown = path.display();
        let file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
        let url = secret_text(&file).map_err(|why| format!("{shown}: {why}"))?;
        match SharedStore::check(&url) {
            Ok(()) => Ok(url),
            Err(_) => Err(format!("{shown}: must hold {STORE_URL}")),
        }
    }
}

/// Without the URL, which may have a password.
impl fmt::Debug for StoreSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(_) => f.write_str("Url(hidden)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

fn url(key: &str, value: &Value<'_>) -> Result<StoreSource, Flaw> {
    let source = match value.get_ref() {
        DeValue::String(url) => StoreSource::of_url(url),
        _ => None,
    };
    source.ok_or_else(|| Flaw::new(value.span(), format!("{key} = ..: must be {STORE_URL}")))
}

#[cfg(test)]
mod tests {
    use super::super::ProxySettings;

    const ROUTE: &str = "[route.a]\nupstream = 'http://a'\n";

    fn refused(fleet: &str) -> String {
        let text = format!("[fleet]\n{fleet}\n{ROUTE}");
        ProxySettings::parse("r.toml", &text).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_wrong_store_was_shown_with_its_password() {
        for wrong in ["'http://me:hunter2@host'", "'redis://me:hunter2@host:port'", "7"] {
            assert_eq!(
                refused(&format!("redis = {wrong}")),
                "r.toml:2:9: fleet.redis = ..: must be redis://user:password@host:port/database, \
                 rediss:// with TLS, or unix:///path"
            );
        }
        for (fleet, message) in [
            (
                "redis_processes = 0",
                "r.toml:2:19: fleet.redis_processes = 0: must be a whole number from 1 to 10000",
            ),
            ("redis_process = 2", "r.toml:2:1: unknown key fleet.redis_process: did you mean"),
            ("redis_file = 7", "r.toml:2:14: fleet.redis_file = 7: must be text in quotes"),
        ] {
            assert!(refused(fleet).starts_with(message), "{}", refused(fleet));
        }
        let both = refused("redis = 'redis://host'\nredis_file = 'x'");
        assert!(both.ends_with("fleet: must have one of redis and redis_file"), "{both}");
    }

    #[test]
    fn a_file_with_the_store_was_believed_or_shown() {
        let path = std::env::temp_dir().join(format!("stagger-proxy-store-{}", std::process::id()));
        let text = format!("{ROUTE}[fleet]\nredis_file = '{}'\n", path.display());
        let settings = ProxySettings::parse("r.toml", &text).expect("good settings");
        let named = format!("fleet.redis_file = {}: ", path.display());
        let missing = settings.fleet.store().expect_err("no file").to_string();
        assert!(missing.starts_with(&named), "{missing}");
        for (wrong, why) in [
            (" \n", "must hold from 1 to 16384 bytes"),
            ("me:hunter2@host", "must hold redis://user:password@host:port/database"),
        ] {
            std::fs::write(&path, wrong).unwrap();
            let refused = settings.fleet.store().expect_err("no URL").to_string();
            assert!(refused.starts_with(&format!("{named}{why}")), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        std::fs::write(&path, "\nredis://me:hunter2@host\n").unwrap();
        let store = settings.fleet.store().expect("a URL");
        std::fs::remove_file(&path).unwrap();
        let expected = ("fleet.redis_file", "redis://me:hunter2@host".to_owned());
        assert_eq!(store, Some(expected));
    }
}

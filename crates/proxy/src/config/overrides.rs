//! Settings from the environment and from flags, which override those of the file.

use std::env::VarError;
use std::path::PathBuf;

use stagger_text::hint;

use super::fault::SettingsFault;
use super::fleet::{MAX_PROCESSES, STORE_URL, StoreSource};
use super::otlp::{OTLP_URL, otlp_url};
use super::settings::ProxySettings;

/// The settings that the environment and flags may have too.
const KEYS: [&str; 4] = ["redis", "redis_file", "redis_processes", "otlp"];

/// The beginning of the names of variables.
const VARIABLES: &str = "STAGGER_";

/// The keys of a store, of which each layer of settings may have one.
const STORES: [&str; 2] = ["redis", "redis_file"];

impl ProxySettings {
    /// Applies the environment: `STAGGER_REDIS`, `STAGGER_REDIS_FILE`, `STAGGER_REDIS_PROCESSES` and `STAGGER_OTLP`.
    /// Paths in it are relative to the working directory.
    ///
    /// # Errors
    /// As of [`apply_pairs`](Self::apply_pairs); a value that is not UTF-8.
    pub fn apply_env(&mut self) -> Result<(), SettingsFault> {
        let mut named = Vec::new();
        for key in KEYS {
            let variable = place(VARIABLES, key);
            match std::env::var(&variable) {
                Ok(value) => named.push((key, value)),
                Err(VarError::NotPresent) => {}
                // Left out, it would mean a budget of this proxy alone.
                Err(VarError::NotUnicode(_)) => {
                    return Err(SettingsFault::new(format!("{variable}: must be UTF-8")));
                }
            }
        }
        self.apply_pairs(VARIABLES, named)
    }

    /// Applies pairs of a key and a value; in errors `prefix` stands before the key: `--` for flags, or `STAGGER_`
    /// for variables, whose keys are then shown in capitals.
    ///
    /// # Errors
    /// The first value that is wrong, and a store that is named twice; nothing is set then. The URL of a store is not
    /// shown.
    pub fn apply_pairs<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        prefix: &str,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), SettingsFault> {
        let mut changed = self.clone();
        let mut store: Option<String> = None;
        for (key, value) in pairs {
            let (key, value) = (key.as_ref(), value.as_ref());
            let origin = place(prefix, key);
            if STORES.contains(&key)
                && let Some(other) = store.replace(origin.clone())
            {
                let why = format!("{other} and {origin}: must be one of both");
                return Err(SettingsFault::new(why));
            }
            set(&mut changed, (key, &origin), value).map_err(|bound| {
                // The URL may have a password in any of its parts.
                let shown = if key == "redis" || value.contains('@') { ".." } else { value };
                SettingsFault::new(format!("{origin}: {key} = {shown}: must be {bound}"))
            })?;
        }
        *self = changed;
        Ok(())
    }
}

/// Sets one setting; the error is its bound.
fn set(
    settings: &mut ProxySettings,
    (key, origin): (&str, &str),
    value: &str,
) -> Result<(), String> {
    match key {
        "redis" => {
            let source = StoreSource::of_url(value).ok_or(STORE_URL)?;
            settings.fleet.share(origin.to_owned(), source);
        }
        "redis_file" if value.is_empty() => return Err("the path of a file".to_owned()),
        "redis_file" => {
            settings.fleet.share(origin.to_owned(), StoreSource::File(PathBuf::from(value)));
        }
        "redis_processes" => {
            let count = value.parse().ok().filter(|count| (1..=MAX_PROCESSES).contains(count));
            let bound = || format!("a whole number from 1 to {MAX_PROCESSES}");
            settings.fleet.expect(count.ok_or_else(bound)?);
        }
        "otlp" => settings.otlp = Some(otlp_url(value).ok_or(OTLP_URL)?),
        _ => return Err(format!("a setting of a flag: {}", hint(key, &KEYS))),
    }
    Ok(())
}

fn place(prefix: &str, key: &str) -> String {
    if prefix == VARIABLES {
        return format!("{prefix}{}", key.to_ascii_uppercase());
    }
    format!("{prefix}{}", key.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(fleet: &str) -> ProxySettings {
        let text = format!("[fleet]\n{fleet}\n[route.a]\nupstream = 'http://a'\n");
        ProxySettings::parse("r.toml", &text).expect("good settings")
    }

    fn store(settings: &ProxySettings) -> (String, String) {
        let store = settings.fleet.store().expect("no file to read").expect("it is shared");
        (store.0.to_owned(), store.1)
    }

    #[test]
    fn a_flag_did_not_override_the_variable_or_that_the_file() {
        let mut settings = settings("redis_file = '/nowhere'\nredis_processes = 2");
        let variables = [("redis", "redis://me:hunter2@variable"), ("redis_processes", "3")];
        settings.apply_pairs("STAGGER_", variables).expect("good variables");
        let of_variable = ("STAGGER_REDIS".to_owned(), "redis://me:hunter2@variable".to_owned());
        assert_eq!((store(&settings), settings.fleet.processes()), (of_variable, 3));
        settings.apply_pairs("--", [("redis", "redis://flag")]).expect("a good flag");
        let of_flag = ("--redis".to_owned(), "redis://flag".to_owned());
        assert_eq!((store(&settings), settings.fleet.processes()), (of_flag, 3));
        assert!(!format!("{settings:?}").contains("flag"), "no log shows the URL");
    }

    #[test]
    fn traces_were_dropped_in_silence_by_a_build_that_cannot_send_them() {
        let mut settings = settings("");
        let mut apply = |url| settings.apply_pairs("STAGGER_", [("otlp", url)]);
        let refused = apply("collector:4318").expect_err("no URL").to_string();
        let expected = format!("STAGGER_OTLP: otlp = collector:4318: must be {OTLP_URL}");
        assert_eq!(refused, expected);
        let applied = apply("http://127.0.0.1:4318/v1/traces");
        assert_eq!(applied.is_ok(), cfg!(feature = "otel"));
    }

    #[test]
    fn a_wrong_flag_or_variable_was_shown_with_its_password() {
        let mut settings = settings("redis = 'redis://host'");
        let before = settings.fleet.clone();
        let mut refused = |prefix, pairs: &[(&str, &str)]| {
            let fault = settings.apply_pairs(prefix, pairs.iter().copied());
            fault.expect_err("must be refused").to_string()
        };
        assert_eq!(
            refused("STAGGER_", &[("redis", "http://me:hunter2@host")]),
            "STAGGER_REDIS: redis = ..: must be redis://user:password@host:port/database, \
             rediss:// with TLS, or unix:///path"
        );
        assert_eq!(
            refused("--", &[("redis", "redis://other"), ("redis_processes", "10001")]),
            "--redis-processes: redis_processes = 10001: must be a whole number from 1 to 10000"
        );
        assert_eq!(
            refused("--", &[("redis", "redis://other"), ("redis_file", "x")]),
            "--redis and --redis-file: must be one of both"
        );
        assert_eq!(
            refused("--", &[("redis_file", "")]),
            "--redis-file: redis_file = : must be the path of a file"
        );
        assert_eq!(settings.fleet, before, "nothing is set by halves");
    }
}

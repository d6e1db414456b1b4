//! Sets values from a file, from the environment and from flags.

use std::path::Path;

use super::file::{self, ConfigFault};
use super::settings;
use super::values::Config;

impl Config {
    /// Applies a TOML text; `file` is its name in errors.
    ///
    /// # Errors
    /// The first key or value that is wrong, with its line and column; nothing is set then.
    pub fn apply_text(&mut self, file: &str, text: &str) -> Result<(), ConfigFault> {
        let mut changed = self.clone();
        for entry in file::entries(file, text)? {
            settings::set(&mut changed, &entry.key, &entry.value)
                .map_err(|error| ConfigFault::at(&entry.place, &error))?;
        }
        *self = changed;
        Ok(())
    }

    /// Applies a TOML file.
    ///
    /// # Errors
    /// A file that cannot be read; as [`apply_text`](Self::apply_text).
    pub fn apply_file(&mut self, path: &Path) -> Result<(), ConfigFault> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigFault::at(&name, &error))?;
        self.apply_text(&name, &text)
    }

    /// Applies pairs of a key and a value; in errors `prefix` stands before the key: `--` for
    /// flags, or `STAGGER_` for variables, whose keys are then shown in capitals.
    ///
    /// # Errors
    /// The first value that is wrong; nothing is set then.
    pub fn apply_pairs<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        prefix: &str,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), ConfigFault> {
        let mut changed = self.clone();
        for (key, value) in pairs {
            settings::set(&mut changed, key.as_ref(), value.as_ref())
                .map_err(|error| ConfigFault::at(&place(prefix, key.as_ref()), &error))?;
        }
        *self = changed;
        Ok(())
    }

    /// Applies the environment: `STAGGER_LISTEN`, `STAGGER_ADMIN_KEY`, and so on.
    ///
    /// # Errors
    /// As [`apply_pairs`](Self::apply_pairs).
    pub fn apply_env(&mut self) -> Result<(), ConfigFault> {
        let named =
            settings::keys().filter_map(|key| Some((key, std::env::var(variable(key)).ok()?)));
        self.apply_pairs(VARIABLES, named.collect::<Vec<_>>())
    }
}

/// The prefix of environment variables.
const VARIABLES: &str = "STAGGER_";

fn variable(key: &str) -> String {
    format!("{VARIABLES}{}", key.to_ascii_uppercase())
}

fn place(prefix: &str, key: &str) -> String {
    if prefix == VARIABLES { variable(key) } else { format!("{prefix}{}", key.replace('_', "-")) }
}

#[cfg(test)]
mod tests {
    use super::super::values::StoreKind;
    use super::*;

    fn refused(text: &str) -> String {
        Config::default().apply_text("d.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_the_nearest_one() {
        let message = refused("listen = '127.0.0.1:1'\nretenton = '7d'");
        assert_eq!(message, "d.toml:2:1: unknown key retenton; did you mean retention?");
    }

    #[test]
    fn a_value_out_of_its_bounds_is_named_with_field_value_and_bound() {
        assert_eq!(refused("slots = 0"), "d.toml:1:9: slots = 0: must be from 1 to 100000");
        let message = refused("\nretention = 7");
        assert!(message.starts_with("d.toml:2:13: retention = 7: must be a span"), "{message}");
    }

    #[test]
    fn a_file_that_is_wrong_in_its_last_line_changes_nothing() {
        let mut config = Config::default();
        config.apply_text("d.toml", "listen = '127.0.0.1:1'\nslots = -3").unwrap_err();
        assert_eq!(config.listen.port(), 8080);
    }

    #[test]
    fn flags_win_over_the_file_and_are_named_as_flags() {
        let mut config = Config::default();
        config.apply_text("d.toml", "max_payload = '1MiB'\nports = [443, 8443]").expect("valid");
        config.apply_pairs("--", [("max_payload", "2KiB")]).expect("valid");
        assert_eq!((config.max_payload, &config.ports[..]), (2048, &[443, 8443][..]));
        let fault = config.apply_pairs("--", [("max_payload", "2KB")]).unwrap_err();
        assert!(
            fault.to_string().starts_with("--max-payload: max_payload = 2KB: must be"),
            "{fault}"
        );
    }

    #[test]
    fn a_store_is_a_word_or_an_address_with_a_hidden_password() {
        let mut config = Config::default();
        config.apply_text("d.toml", "store = 'postgres://me:hunter2@db/shop'").expect("valid");
        assert!(matches!(config.store, StoreKind::Postgres(_)));
        assert!(!format!("{config:?}").contains("hunter2"));
        let message = refused("store = 'postgres://me:hunter2@db/shop?sslmode=prefer'");
        assert!(message.contains("sslmode") && !message.contains("hunter2"), "{message}");
        let message = refused("store = 'mysql://me:hunter2@db/shop'");
        assert!(message.contains("postgres://") && !message.contains("hunter2"), "{message}");
    }

    #[test]
    fn every_key_has_a_default_that_could_be_written_down() {
        for key in settings::keys() {
            assert!(settings::set(&mut Config::default(), key, "").is_err(), "{key}");
        }
    }
}

//! Settings from a file, the environment and flags.

use std::env::VarError;
use std::fmt;
use std::path::Path;

use stagger_text::settings::{Document, Flaw};

use super::settings::{keys, set};
use super::source::SourceSettings;
use super::values::Config;

/// A setting that is wrong, and where it stands: file, line and column, or variable, or flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    message: String,
}

impl ConfigFault {
    fn at(place: &str, what: &dyn fmt::Display) -> Self {
        Self { message: format!("{place}: {what}") }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigFault {}

impl Config {
    /// Applies a TOML text; `file` is its name in errors.
    ///
    /// # Errors
    /// The first key or value that is wrong, with its line and column; nothing is set then.
    pub fn apply_text(&mut self, file: &str, text: &str) -> Result<(), ConfigFault> {
        let read = self.with_text(text);
        *self = read.map_err(|flaw| ConfigFault { message: flaw.line(file, text) })?;
        Ok(())
    }

    fn with_text(&self, text: &str) -> Result<Self, Flaw> {
        let document = Document::parse(text)?;
        let (reader, mut changed) = (document.reader(), self.clone());
        let keys: Vec<_> = keys().collect();
        let given: Vec<_> = keys.iter().map(|key| (*key, reader.plain(key))).collect();
        let sources = SourceSettings::all(&reader)?;
        reader.done()?;
        changed.sources.extend(sources);
        for (key, value) in given {
            let Some((value, at)) = value? else { continue };
            set(&mut changed, key, &value).map_err(|error| Flaw::new(at, error.to_string()))?;
        }
        Ok(changed)
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
            set(&mut changed, key.as_ref(), value.as_ref())
                .map_err(|error| ConfigFault::at(&place(prefix, key.as_ref()), &error))?;
        }
        *self = changed;
        Ok(())
    }

    /// Applies the environment: `STAGGER_LISTEN`, `STAGGER_ADMIN_KEY`, and so on.
    ///
    /// # Errors
    /// As [`apply_pairs`](Self::apply_pairs); a value that is not UTF-8.
    pub fn apply_env(&mut self) -> Result<(), ConfigFault> {
        let mut named = Vec::new();
        for key in keys() {
            match std::env::var(variable(key)) {
                Ok(value) => named.push((key, value)),
                Err(VarError::NotPresent) => {}
                // Left out, it would be the default: a store in the wrong place, a key that is another.
                Err(VarError::NotUnicode(_)) => {
                    return Err(ConfigFault::at(&variable(key), &"must be UTF-8"));
                }
            }
        }
        self.apply_pairs(VARIABLES, named)
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

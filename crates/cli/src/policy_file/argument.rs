//! A policy on the command line: `FILE#NAME`, and the single settings that flags put on top of it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use stagger_core::{Backoff, ConfigError, Envelope, Jitter, Span};

/// A file, or standard input for `-`, and one of its policies if a name is given. File names may have
/// any bytes; names of policies are text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyArgument {
    pub(crate) file: PathBuf,
    pub(crate) name: Option<String>,
}

impl PolicyArgument {
    /// Whether standard input is meant.
    pub(crate) fn is_stdin(&self) -> bool {
        self.file.as_os_str() == "-"
    }
}

impl From<PathBuf> for PolicyArgument {
    fn from(file: PathBuf) -> Self {
        Self { file, name: None }
    }
}

impl From<OsString> for PolicyArgument {
    /// Splits at the last `#`. A path that exists is a file, `#` and all; so is one that goes on with a
    /// `/` behind the `#`, unless what is before it exists.
    fn from(typed: OsString) -> Self {
        match split(&typed) {
            Some((file, name)) if !Path::new(&typed).exists() => {
                Self { file: PathBuf::from(file), name: Some(name.to_owned()) }
            }
            _ => Self::from(PathBuf::from(typed)),
        }
    }
}

/// Returns the part before the last `#`, and the name behind it.
fn split(typed: &OsStr) -> Option<(&OsStr, &str)> {
    let bytes = typed.as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'#')?;
    let file = OsStr::from_bytes(&bytes[..at]);
    let name = std::str::from_utf8(&bytes[at + 1..]).ok()?;
    (!name.contains('/') || Path::new(file).exists()).then_some((file, name))
}

/// The flags that replace settings of the backoff; the others stay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) base: Option<Span>,
    pub(crate) cap: Option<Span>,
    pub(crate) factor: Option<f64>,
    pub(crate) jitter: Option<Jitter>,
}

impl Overrides {
    /// The rule with the settings on top; `cap` where no flag says one.
    ///
    /// # Errors
    /// Settings that the engine refuses.
    pub(crate) fn on(&self, rule: &Backoff, cap: Span) -> Result<Backoff, ConfigError> {
        let base = self.base.unwrap_or(rule.base());
        let changed = match (rule.envelope(), self.cap) {
            // A constant envelope's cap is its base, and follows it.
            (Envelope::Constant, None) => Backoff::constant(base),
            (envelope, asked) => Backoff::new(envelope, base, asked.unwrap_or(cap))?,
        };
        let changed = match self.factor {
            Some(factor) => changed.with_factor(factor)?,
            None => changed,
        };
        changed.with_jitter(self.jitter.unwrap_or(rule.jitter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(typed: &[u8]) -> (PathBuf, Option<String>) {
        let argument = PolicyArgument::from(OsStr::from_bytes(typed).to_owned());
        (argument.file, argument.name)
    }

    fn path(bytes: &[u8]) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(bytes))
    }

    #[test]
    fn a_file_with_a_number_sign_in_its_path_was_cut_in_two() {
        assert_eq!(read(b"nowhere/#1/p.toml"), (path(b"nowhere/#1/p.toml"), None));
        assert_eq!(read(b"nowhere#1.toml#b"), (path(b"nowhere#1.toml"), Some("b".to_owned())));
    }

    #[test]
    fn a_path_that_is_not_utf_8_was_no_path() {
        assert_eq!(read(b"caf\xe9.toml#b"), (path(b"caf\xe9.toml"), Some("b".to_owned())));
        assert_eq!(read(b"caf#\xe9.toml"), (path(b"caf#\xe9.toml"), None));
        assert!(PolicyArgument::from(OsString::from("-#b")).is_stdin());
    }
}

//! Unpredictable bytes: this is the one file of this crate that asks the operating system for them.
#![expect(clippy::disallowed_methods, reason = "keys must come from the operating system itself")]

use crate::Error;

/// Bytes for a key, straight from the operating system: the generator that spreads delays is fast and
/// can be guessed.
///
/// # Errors
/// The operating system has none.
pub(crate) fn os_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    os_fill(&mut bytes)?;
    Ok(bytes)
}

/// Fills `bytes` from the operating system: one call for all of them.
///
/// # Errors
/// The operating system has none.
pub(crate) fn os_fill(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes)
        .map_err(|error| Error::busy(format!("the system's random generator failed: {error}")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Folders and files whose random bytes are secrets, or are shown to callers and receivers.
    const NO_JITTER: [&str; 7] =
        ["api", "config", "model", "node/submission.rs", "server", "sign/random.rs", "ui"];

    /// All Rust files at `place`, which is a file or a folder.
    fn files(place: PathBuf) -> Vec<PathBuf> {
        if place.is_dir() {
            let entries = fs::read_dir(place).expect("a readable folder");
            return entries.flat_map(|entry| files(entry.expect("an entry").path())).collect();
        }
        place.extension().is_some_and(|end| end == "rs").then_some(place).into_iter().collect()
    }

    /// Session tokens were once drawn from the generator whose output the ids published.
    #[test]
    fn a_session_token_or_an_id_came_from_the_generator_of_delays() {
        let generators = [["Ent", "ropy"].concat(), ["R", "ng"].concat()];
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files: Vec<_> = NO_JITTER.iter().flat_map(|place| files(source.join(place))).collect();
        assert!(files.len() > 50, "the folders have moved: {} files", files.len());
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            for name in &generators {
                assert!(!text.contains(name), "{}: {name}; use os_bytes", file.display());
            }
        }
    }

    #[test]
    fn two_draws_of_random_bytes_were_the_same() {
        let draw = || os_bytes::<32>().expect("the system has randomness");
        assert_ne!(draw(), draw());
    }
}

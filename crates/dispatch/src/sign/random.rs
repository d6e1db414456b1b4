//! Bytes that nobody can guess: the one file of this crate that asks the operating system for them.
#![expect(clippy::disallowed_methods, reason = "keys must come from the operating system itself")]

use crate::Error;

/// Bytes for a key, straight from the operating system: the generator that spreads delays is fast and
/// can be guessed.
///
/// # Errors
/// The operating system has none.
pub(crate) fn os_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(Error::busy(format!("the system has no randomness for a key: {error}"))),
    }
}

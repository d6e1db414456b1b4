//! Random bits from the operating system, for the fences of runs and for nonces.

use crate::Error;

/// The random bits of a fence, below its number.
pub(crate) const NONCE_BITS: u32 = 31;

/// Fills `bytes` with random bits.
///
/// # Errors
/// The operating system has none.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    for chunk in bytes.chunks_mut(size_of::<u32>()) {
        let word = getrandom::u32();
        let word = word.map_err(|error| Error::busy(format!("no randomness: {error}")))?;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
    Ok(())
}

/// Random bits for a fence.
///
/// # Errors
/// The operating system has none.
pub(crate) fn nonce() -> Result<u64, Error> {
    let word = getrandom::u32();
    let word = word.map_err(|error| Error::busy(format!("no randomness: {error}")))?;
    Ok(u64::from(word >> (u32::BITS - NONCE_BITS)))
}

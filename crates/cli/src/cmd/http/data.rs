//! Data of a request from the command line, from a file or from standard input.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;

use crate::command_error::CommandError;

/// The longest body that is sent: it is held in memory, because every attempt sends it again.
const MAX_BODY: u64 = 1 << 30;

/// The bytes that a flag gives: its own, or those of the file behind an @.
///
/// # Errors
/// A file that cannot be read, and data of more than 1 GiB.
pub(super) fn bytes(flag: &str, data: &OsStr) -> Result<Vec<u8>, CommandError> {
    let Some(file) = data.as_bytes().strip_prefix(b"@").map(OsStr::from_bytes) else {
        return Ok(data.as_bytes().to_vec());
    };
    let stdin = file == "-";
    let name = if stdin { "standard input".to_owned() } else { file.display().to_string() };
    let refused = |error| CommandError::File(format!("error: {name}: {error}"));
    let from: Box<dyn Read> = match stdin {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(file).map_err(refused)?),
    };
    let mut bytes = Vec::new();
    from.take(MAX_BODY + 1).read_to_end(&mut bytes).map_err(refused)?;
    // OK because no target has pointers of more than 64 bits.
    if bytes.len() as u64 > MAX_BODY {
        return Err(CommandError::invalid(flag, &data.display().to_string(), "at most 1 GiB"));
    }
    Ok(bytes)
}

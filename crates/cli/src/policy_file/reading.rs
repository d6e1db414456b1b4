//! The text of a file, or of standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::command_error::CommandError;

/// The longest text that is read: more policies than anyone writes, the largest configurations of proxies, and no
/// device without an end.
const MAX_TEXT: u64 = 64 << 20;

/// The name that messages have for a file, and its text; `-` is standard input.
///
/// # Errors
/// A file that cannot be read, is not UTF-8, or has no end in sight.
pub(crate) fn read(file: &Path) -> Result<(String, String), CommandError> {
    if file.as_os_str() == "-" {
        return take("standard input".to_owned(), io::stdin().lock());
    }
    let name = file.display().to_string();
    match File::open(file) {
        Ok(opened) => take(name, opened),
        Err(error) => Err(refused(&name, &error.to_string())),
    }
}

fn take(file: String, from: impl Read) -> Result<(String, String), CommandError> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_TEXT + 1).read_to_end(&mut bytes);
    read.map_err(|error| refused(&file, &error.to_string()))?;
    // OK because a vector never holds more than fits u64.
    if bytes.len() as u64 > MAX_TEXT {
        return Err(refused(&file, "must be at most 64 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        CommandError::File(format!("error: {file}:{line}: is not UTF-8"))
    })?;
    Ok((file, text))
}

fn refused(file: &str, why: &str) -> CommandError {
    CommandError::File(format!("error: {file}: {why}"))
}

//! The text of a file, or of standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::refusal::Refusal;

/// The longest text that is read: more policies than anyone writes, and no device without an end.
const MAX_TEXT: u64 = 16 * 1024 * 1024;

/// The file and the policy of `FILE#NAME`; a file whose own name has a `#` is itself.
pub(crate) fn split(asked: &str) -> (&str, Option<&str>) {
    match asked.rsplit_once('#') {
        Some((file, name)) if !Path::new(asked).exists() => (file, Some(name)),
        _ => (asked, None),
    }
}

/// What a person calls a file, and what stands in it; `-` is standard input.
///
/// # Errors
/// What cannot be read, is not UTF-8, or has no end in sight.
pub(crate) fn read(file: &str) -> Result<(&str, String), Refusal> {
    if file == "-" {
        return take("standard input", io::stdin().lock());
    }
    match File::open(file) {
        Ok(opened) => take(file, opened),
        Err(error) => Err(refused(file, &error.to_string())),
    }
}

fn take(file: &str, from: impl Read) -> Result<(&str, String), Refusal> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_TEXT + 1).read_to_end(&mut bytes);
    read.map_err(|error| refused(file, &error.to_string()))?;
    // OK because a vector never holds more than fits u64.
    if bytes.len() as u64 > MAX_TEXT {
        return Err(refused(file, "must be at most 16 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Refusal::File(format!("error: {file}:{line}: is not UTF-8"))
    })?;
    Ok((file, text))
}

fn refused(file: &str, why: &str) -> Refusal {
    Refusal::File(format!("error: {file}: {why}"))
}

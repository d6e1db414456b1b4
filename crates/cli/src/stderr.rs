//! The one place that writes to standard error, apart from logs.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// The code of a refusal: bad input, and nothing was done.
const REFUSED: u8 = 2;

/// Writes a line for people. A failed write is ignored, because there is no other place for it.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes a question whose answer comes in the same line.
pub(crate) fn prompt(question: &str) {
    let mut err = io::stderr();
    let _ = write!(err, "{question}").and_then(|()| err.flush());
}

/// Says why nothing was done.
pub(crate) fn refuse(why: &dyn Display) -> ExitCode {
    refused(&format!("error: {why}"))
}

/// The same with words that are whole already.
pub(crate) fn refused(why: &str) -> ExitCode {
    note(why);
    ExitCode::from(REFUSED)
}

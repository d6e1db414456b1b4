//! The one place that writes to standard output.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Writes a whole page; a reader that has gone away (`| head -1`) is no failure.
pub(crate) fn write(page: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(page.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => complain(&error),
        _ => ExitCode::SUCCESS,
    }
}

/// Writes a piece of something longer; whether anybody still reads.
///
/// # Errors
/// The system's refusal, other than that of a reader that has gone away.
pub(crate) fn piece(bytes: &[u8]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

fn complain(error: &io::Error) -> ExitCode {
    // A full disk is worth a message; if that fails too, the exit code is all that is left.
    let _ = writeln!(io::stderr(), "error: cannot write to standard output: {error}");
    ExitCode::FAILURE
}

//! Standard output and standard error, the one place that writes to them apart from logs, and the terminal behind each:
//! its colours and its columns.

use std::env;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::termios::tcgetwinsize;

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

/// Below this a sentence is a column of single words.
const LEAST: usize = 40;
/// Lines longer than this are hard to read.
const MOST: usize = 100;
/// The columns of pages that go elsewhere: a file, a pipe, a log. Terminals have at least as many.
pub(crate) const USUAL_WIDTH: usize = 80;

/// The columns, as far as text uses them; none for what is no terminal, or has no known width.
pub(crate) fn width(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = tcgetwinsize(stream).ok().filter(|size| size.ws_col > 0)?;
    stream.is_terminal().then(|| usize::from(size.ws_col).clamp(LEAST, MOST))
}

/// The columns of a page on standard output.
pub(crate) fn page_width() -> usize {
    width(&io::stdout()).unwrap_or(USUAL_WIDTH)
}

/// Whether what is written to standard error has colours.
pub(crate) fn errors_have_colours() -> bool {
    has_colours(&io::stderr())
}

/// Colours are for terminals, unless `NO_COLOR` is set (<https://no-color.org>) or the terminal has
/// none.
pub(crate) fn has_colours(stream: &impl IsTerminal) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|name| name == "dumb");
    stream.is_terminal() && !refused && !dumb
}

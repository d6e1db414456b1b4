//! The columns of the terminal behind a stream.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Below this a sentence is a column of single words.
const LEAST: usize = 40;
/// Lines longer than this are hard to read.
const MOST: usize = 100;
/// The columns of pages that go elsewhere: a file, a pipe, a log. Terminals have at least as many.
pub(crate) const USUAL: usize = 80;

/// The columns, as far as text uses them; none for what is no terminal, or has no known width.
pub(crate) fn of(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = tcgetwinsize(stream).ok().filter(|size| size.ws_col > 0)?;
    stream.is_terminal().then(|| usize::from(size.ws_col).clamp(LEAST, MOST))
}

/// The columns of a page on standard output.
pub(crate) fn of_page() -> usize {
    of(&io::stdout()).unwrap_or(USUAL)
}
